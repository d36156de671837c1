"""A smaller recording with the same sound, in place of an upload that has much beside it.

What is encoded are our own samples, so no child process has to do it, as for decoding (`audio_child.py`).
"""

from __future__ import annotations

import io

import av
import numpy as np
import structlog
from av.audio.stream import AudioStream

from infra.blobs.store import Blobs, DiskFull
from schemas.records.orders import StoredRecording
from services.transcription.audio.audio import RATE, Samples
from services.transcription.audio.containers import Container
from services.transcription.ports import Recording

log = structlog.get_logger(__name__)

# A file with fewer bytes a second is about as small as FLAC would make it.
COMPACT_BYTES_A_S = 12_000
WORTH_IT = 0.75
"""The share of the file's size up to which FLAC takes its place. It has 15 kB a second of speech, 31 of noise
and 0.3 of silence."""
_LOUDEST = 2**15


def compacted(blobs: Blobs, recording: Recording) -> StoredRecording | None:
    """Store what can be heard of a recording as FLAC, where that is much smaller than its file: what lies
    behind the sound is left out, silence takes next to nothing, and words keep their times. None where the
    file is small as it is, or the store takes no other now."""
    size, samples = recording.file.stat().st_size, recording.samples
    if size <= COMPACT_BYTES_A_S * samples.size / RATE:
        return None
    sound = _flac(samples)
    if len(sound) > WORTH_IT * size:
        return None
    try:
        with blobs.open() as writer:
            writer.write(sound)
            return StoredRecording(writer.commit(Container.FLAC.media_type), Container.FLAC.value)
    except (DiskFull, OSError):
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
