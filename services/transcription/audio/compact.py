"""Re-encode large uploads as FLAC.

The encoder gets our own samples, so unlike decoding (`audio_child.py`) it needs no sandbox.
"""

from __future__ import annotations

import io

import av
import numpy as np
import structlog
from av.audio.stream import AudioStream

from infra.blobs.store import Blobs
from schemas.errors import StorageFull
from services.transcription.audio.audio import RATE, Samples
from services.transcription.ports import Recording

log = structlog.get_logger(__name__)

# A file with fewer bytes per second is about as small as FLAC.
SMALL_BYTES_PER_S = 12_000
MAX_SHARE = 0.75
"""FLAC replaces the file if it has at most this share of its size. A second of speech takes 15 kB, of noise
31, of silence 0.3."""
_FULL_SCALE = 2**15


def compact(blobs: Blobs, recording: Recording) -> str | None:
    """Store a recording's audio, without the file's other data, as FLAC if that is much smaller; word times
    stay valid. Return the new key; None if the file is small already, or the store fails."""
    try:
        size, samples = recording.file.stat().st_size, recording.samples
        if size <= SMALL_BYTES_PER_S * samples.size / RATE:
            return None
        flac = _flac(samples)
        if len(flac) > MAX_SHARE * size:
            return None
        with blobs.open() as writer:
            writer.write(flac)
            return writer.commit()
    except (StorageFull, OSError):
        log.warning("recording.not_compacted", exc_info=True)
        return None


def _flac(samples: Samples) -> bytes:
    pcm = np.clip(np.rint(samples * _FULL_SCALE), -_FULL_SCALE, _FULL_SCALE - 1).astype(np.int16)
    frame = av.AudioFrame.from_ndarray(pcm[None, :], format="s16", layout="mono")
    frame.sample_rate = RATE
    file = io.BytesIO()
    with av.open(file, "w", format="flac") as box:
        stream = box.add_stream("flac", rate=RATE, layout="mono")
        assert isinstance(stream, AudioStream)
        stream.format = "s16"
        box.mux(stream.encode(frame))
        box.mux(stream.encode(None))
    return file.getvalue()
