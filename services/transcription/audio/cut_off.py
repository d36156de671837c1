"""Detect WAV and Ogg files that end too soon, which FFmpeg ignores.

A cut-off upload decodes without an error, as a plausible shorter order. `audio_child.py` compares the other
containers with their declared length. A stream without a declared length that was
cut between two of its parts can't be distinguished from a shorter recording.

Sources: RFC 3533 (Ogg), ITU-R BS.2088 (RF64).
"""

from __future__ import annotations

import struct
from pathlib import Path

from services.transcription.audio.containers import AudioContainer


def is_cut_off(path: Path, container: AudioContainer) -> bool:
    """Return True if part of the recording is missing. Reads the whole file, and raises only OSError."""
    check = {AudioContainer.WAV: _wav, AudioContainer.OGG: _ogg}.get(container)
    try:
        return check is not None and check(path.read_bytes())
    except (struct.error, IndexError):  # an incomplete header
        return True


def _wav(data: bytes) -> bool:
    """Compare the data chunk's size with the file's. 0 and sizes near 2^31 or 2^32 are what streaming
    writers leave."""
    at, byte_rate, long_size = 12, 0, 0
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"ds64":
            (long_size,) = struct.unpack_from("<Q", data, at + 8)
        elif name == b"fmt ":
            (byte_rate,) = struct.unpack_from("<I", data, at + 8)
        elif name == b"data":
            if size == 0xFFFFFFFF and long_size:
                size = long_size
            elif size == 0 or size >= 0x7FFF0000:
                return False
            # Some encoders include the header; a missing twentieth of a second is tolerated.
            return bool(at + size - len(data) > max(64, byte_rate // 20))
        at += size + (size & 1)
    return True


def _ogg(data: bytes) -> bool:
    """Return True if the last page or packet is incomplete. Some tools append tags, and a recorder that was
    killed sets no end-of-stream mark."""
    at = data.rfind(b"OggS")
    body = at + 27 + data[at + 26]
    lacing = data[at + 27 : body]
    return len(lacing) < data[at + 26] or body + sum(lacing) > len(data) or lacing[-1:] == b"\xff"
