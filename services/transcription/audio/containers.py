"""Detect a file's audio container by its first bytes, not by its name or Content-Type.

The demuxer is then fixed (`audio_child.py`): FFmpeg's own detection would open ffconcat and HLS playlists,
which refer to other files and URLs. Imports no engine, since the API checks uploads before storing them.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

from schemas.errors import UnsupportedAudio

HEAD_BYTES = 4096
"""Bytes that `sniff` needs: an MP3 may begin with a tag."""

EBML = b"\x1a\x45\xdf\xa3"


class AudioContainer(StrEnum):
    """An accepted container; the value is its usual file suffix."""

    WAV = "wav"
    FLAC = "flac"
    OGG = "ogg"
    MP3 = "mp3"
    M4A = "m4a"
    WEBM = "webm"

    @property
    def media_type(self) -> str:
        """The media type."""
        return _MEDIA_TYPES.get(self, f"audio/{self.value}")


_MEDIA_TYPES = {AudioContainer.MP3: "audio/mpeg", AudioContainer.M4A: "audio/mp4"}


def sniff(head: bytes) -> AudioContainer | None:
    """Return the container of a file by its first `HEAD_BYTES` bytes, or None."""
    if head[:4] in (b"RIFF", b"RF64") and head[8:12] == b"WAVE":
        return AudioContainer.WAV
    if head[:4] == b"fLaC" and len(head) > 4 and head[4] & 0x7F == 0:  # STREAMINFO must come first
        return AudioContainer.FLAC
    if _is_ogg_audio(head):
        return AudioContainer.OGG
    if _is_mp4(head):
        return AudioContainer.M4A
    if _is_webm(head):
        return AudioContainer.WEBM
    if _is_mp3(head):
        return AudioContainer.MP3
    return None


def sniff_file(path: Path) -> AudioContainer:
    """Return the container of a stored file.

    Raises:
        UnsupportedAudio: empty, or none of the accepted containers.
    """
    with path.open("rb") as file:
        head = file.read(HEAD_BYTES)
    if not head:
        raise UnsupportedAudio("The file is empty.")
    container = sniff(head)
    if container is None:
        raise UnsupportedAudio("The file is not in an accepted audio container.")
    return container


def _is_ogg_audio(head: bytes) -> bool:
    """Return True if the first packet is Opus or Vorbis; Ogg may also contain video or Speex."""
    if head[:5] != b"OggS\0" or len(head) < 28:
        return False
    packet = head[27 + head[26] :]
    return packet.startswith((b"OpusHead", b"\x01vorbis"))


def _is_mp4(head: bytes) -> bool:
    """Return True for an `ftyp` box, unless its brand is one of still images."""
    if head[4:8] != b"ftyp" or int.from_bytes(head[:4]) < 16:
        return False
    return head[8:12] not in (b"avif", b"avis", b"heic", b"heix", b"hevc", b"mif1", b"msf1", b"jxl ")


def _is_webm(head: bytes) -> bool:
    """Return True for EBML with the DocType (element 4282) webm or matroska."""
    if not head.startswith(EBML):
        return False
    at = head.find(b"\x42\x82", 5, 64)
    if at < 0 or at + 3 > len(head) or not head[at + 2] & 0x80:
        return False
    doctype = head[at + 3 : at + 3 + (head[at + 2] & 0x7F)].rstrip(b"\0")
    return doctype in (b"webm", b"matroska")


def _id3_length(head: bytes) -> int:
    """Return the length of the ID3v2 tag at the start of `head`; 0 without one."""
    if head[:3] != b"ID3" or len(head) < 10 or any(byte & 0x80 for byte in head[6:10]):
        return 0
    size = head[6] << 21 | head[7] << 14 | head[8] << 7 | head[9]
    return 10 + size + (10 if head[5] & 0x10 else 0)  # with a footer, if flagged


def _is_mp3(head: bytes) -> bool:
    """Return True for an MPEG audio Layer III frame header, except free format, possibly after a tag.

    A tag longer than the head (cover art) is enough; the decoder will check the rest.
    """
    start = _id3_length(head)
    if start >= HEAD_BYTES:
        return True
    word = int.from_bytes(head[start : start + 4])
    version, layer, bitrate, rate = word >> 19 & 3, word >> 17 & 3, word >> 12 & 15, word >> 10 & 3
    return word >> 21 == 0x7FF and version != 1 and layer == 1 and bitrate not in (0, 15) and rate != 3
