"""Replace a large upload by a smaller recording of the same audio.

It encodes our own samples, so unlike decoding (`audio_child.py`) it needs no sandbox.
"""

from __future__ import annotations

import io

import av
import numpy as np
import structlog
from av.audio.stream import AudioStream

from infra.blobs.store import Blobs
from schemas.errors import StorageFull
from schemas.records.orders import StoredRecording
from services.transcription.audio.audio import RATE, Samples
from services.transcription.audio.containers import AudioContainer
from services.transcription.ports import Recording

log = structlog.get_logger(__name__)

# A file with fewer bytes a second is about as small as FLAC.
COMPACT_BYTES_A_S = 12_000
WORTH_IT = 0.75
"""The largest share of the file's size at which FLAC replaces it. FLAC takes 15 kB a second of speech, 31 of
noise and 0.3 of silence."""
_LOUDEST = 2**15


def compact(blobs: Blobs, recording: Recording) -> StoredRecording | None:
    """Store a recording's audio as FLAC, if that is much smaller: other data of the file is dropped, and
    words keep their times. None if the file is small already, or the store fails."""
    size, samples = recording.file.stat().st_size, recording.samples
    if size <= COMPACT_BYTES_A_S * samples.size / RATE:
        return None
    sound = _flac(samples)
    if len(sound) > WORTH_IT * size:
        return None
    try:
        with blobs.open() as writer:
            writer.write(sound)
            return StoredRecording(writer.commit(), AudioContainer.FLAC.value)
    except (StorageFull, OSError):
        log.warning("recording.not_compacted", exc_info=True)
        return None


def _flac(samples: Samples) -> bytes:
    whole = np.clip(np.rint(samples * _LOUDEST), -_LOUDEST, _LOUDEST - 1).astype(np.int16)
    frame = av.AudioFrame.from_ndarray(whole[None, :], format="s16", layout="mono")
    frame.sample_rate = RATE
    file = io.BytesIO()
    with av.open(file, "w", format="flac") as box:
        stream = box.add_stream("flac", rate=RATE, layout="mono")
        assert isinstance(stream, AudioStream)
        stream.format = "s16"
        box.mux(stream.encode(frame))
        box.mux(stream.encode(None))
    return file.getvalue()
