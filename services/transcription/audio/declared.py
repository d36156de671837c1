"""Whether a recording is whole: what its container declares, against what was decoded.

A cut-off upload decodes without an error, as a plausible shorter order. Two signs give it away: the header
declares more seconds than came out, or a chunk, page, frame, box or block reaches past the end of the file.
Recordings that were streamed out (browsers' MediaRecorder, a WAV written to a pipe) declare no length, and
are taken for whole when their last part is; a cut that falls on the very boundary of two parts of such a
stream can't be distinguished from a shorter recording.

Sources: RFC 9559 and RFC 8794 (Matroska, EBML), RFC 3533 and 7845 (Ogg, Opus), RFC 9639 (FLAC),
ISO/IEC 14496-12 (MP4), ITU-R BS.2088 (RF64), the LAME tag's description (Xing, Info, VBRI).
"""

from __future__ import annotations

import struct
from collections.abc import Callable
from pathlib import Path

from schemas.errors import AudioDamaged
from services.transcription.audio.containers import WHOLE_BUT_SILENT_ABOUT_LENGTH, Container, Declared
from services.transcription.audio.declared_boxes import m4a, webm
from services.transcription.audio.declared_frames import mp3, ogg


def check_whole(path: Path, container: Container, decoded_s: float) -> None:
    """Compare `decoded_s`, the seconds of audio that came out, with what the file at `path` declares.

    Reads the whole file (it is under the upload's byte cap); linear in its size.

    Raises:
        AudioDamaged: shorter than declared by more than its tolerance, or cut inside a part.
    """
    declared = read_declared(path.read_bytes(), container)
    if declared.cut:
        raise AudioDamaged(f"The recording is cut off: {declared.cut}.")
    if declared.seconds is not None and decoded_s < declared.seconds - declared.tolerance_s:
        raise AudioDamaged(
            f"The recording declares {declared.seconds:.1f} s, but only {decoded_s:.1f} s could be decoded."
        )


def read_declared(data: bytes, container: Container) -> Declared:
    """What `data`, a whole file of this container, says of itself. Never raises on malformed data."""
    try:
        return _READERS[container](data)
    except (struct.error, IndexError):
        # Every read past the end ends here: a header that is not there in full.
        return Declared(cut="a header ends in the middle")


def wav(data: bytes) -> Declared:
    """Data chunk size over byte rate. 0 and sizes near 2^31 or 2^32 are what streaming writers leave."""
    at, byte_rate, ds64 = 12, 0, 0
    while at + 8 <= len(data):
        name, size = struct.unpack_from("<4sI", data, at)
        at += 8
        if name == b"ds64":
            (ds64,) = struct.unpack_from("<Q", data, at + 8)
        elif name == b"fmt ":
            (byte_rate,) = struct.unpack_from("<I", data, at + 8)
        elif name == b"data":
            if size == 0xFFFFFFFF and ds64:
                size = ds64
            elif size == 0 or size >= 0x7FFF0000:
                return WHOLE_BUT_SILENT_ABOUT_LENGTH
            seconds = size / byte_rate if byte_rate else None
            missing = at + size - len(data)
            # A few writers count the header in; half a tenth of a second is not worth a refusal.
            if missing > max(64, byte_rate // 20):
                return Declared(seconds, cut=f"{missing} bytes of the data chunk are missing")
            return Declared(seconds)
        at += size + (size & 1)
    return Declared(cut="there is no data chunk")


def flac(data: bytes) -> Declared:
    """STREAMINFO: 20 bits of rate, 3 of channels, 5 of depth, 36 of total samples (0: unknown)."""
    (packed,) = struct.unpack_from(">Q", data, 18)
    rate, total = packed >> 44, packed & (1 << 36) - 1
    if not rate or not total:
        return WHOLE_BUT_SILENT_ABOUT_LENGTH
    return Declared(total / rate, tolerance_s=0.02)  # lossless: the count is exact


_READERS: dict[Container, Callable[[bytes], Declared]] = {
    Container.WAV: wav,
    Container.FLAC: flac,
    Container.OGG: ogg,
    Container.MP3: mp3,
    Container.M4A: m4a,
    Container.WEBM: webm,
}
