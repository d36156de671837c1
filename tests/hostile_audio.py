"""Recordings that are well formed, small, and cost far more to decode than they look. Byte by byte: no
encoder writes them. Sources: RFC 9639 (FLAC), ISO/IEC 14496-12 (MP4), RFC 8794 and 9559 (EBML, Matroska)."""

from __future__ import annotations

import struct
from collections.abc import Iterable

FLAC_RATES = {16_000: 5, 8_000: 4, 22_050: 6, 24_000: 7, 44_100: 9, 48_000: 10}
_BLOCK = 16  # samples: the fewest that a frame may hold


def _crc(data: bytes, polynomial: int, bits: int) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << bits - 8
        for _ in range(8):
            crc = crc << 1 ^ (polynomial if crc >> bits - 1 else 0)
            crc &= (1 << bits) - 1
    return crc


def _coded(number: int) -> bytes:
    """A frame's number as FLAC writes it: UTF-8, beyond what text has as well."""
    if number < 0x80:
        return bytes([number])
    tail, room = [], 6
    while number >= 1 << room:
        tail.append(0x80 | number & 0x3F)
        number, room = number >> 6, room - 1
    return bytes([0xFF << room + 1 & 0xFF | number, *reversed(tail)])


def flac_frame(number: int, *, channels: int = 1, rate: int = 16_000) -> bytes:
    """Sixteen samples of one value: 13 bytes and 3 more a channel."""
    head = bytes([0xFF, 0xF8, 0x60 | FLAC_RATES[rate], channels - 1 << 4 | 4 << 1])
    head += _coded(number) + bytes([_BLOCK - 1])
    body = head + bytes([_crc(head, 0x07, 8)]) + b"\0\1\0" * channels
    return body + _crc(body, 0x8005, 16).to_bytes(2)


def flac(frames: Iterable[bytes], *, total: int = 0, rate: int = 16_000) -> bytes:
    """A stream of frames; `total` is the number of samples that its header promises, 0 for unknown."""
    packed = rate << 44 | 15 << 36 | total
    info = _BLOCK.to_bytes(2) * 2 + bytes(6) + struct.pack(">Q", packed) + bytes(16)
    return b"fLaC\x80\0\0\x22" + info + b"".join(frames)


def alternating_channels(frames: int) -> bytes:
    """FLAC, mono and stereo by turns: each frame costs a new resampler."""
    return flac(flac_frame(n, channels=1 + n % 2) for n in range(frames))


def alternating_rates(frames: int) -> bytes:
    """FLAC, at 8 and 16 kHz by turns."""
    return flac(flac_frame(n, rate=(8_000, 16_000)[n % 2]) for n in range(frames))


def tiny_frames(frames: int) -> bytes:
    """FLAC of frames of sixteen samples each, all of one form."""
    return flac(flac_frame(n) for n in range(frames))


def box(name: bytes, body: bytes, *, size: int | None = None) -> bytes:
    """One MP4 box; a `size` of one's own may lie."""
    return struct.pack(">I4s", len(body) + 8 if size is None else size, name) + body


def overlapping_tracks(tracks: int) -> bytes:
    """MP4 whose every track holds a media box that says it reaches over all that follow."""
    lying = box(b"trak", box(b"mdia", b"", size=0x7FFFFFFF), size=16)
    # The last box is smaller than its own header: who walks on to it stops, without an error.
    return box(b"ftyp", b"M4A \0\0\0\0") + box(b"moov", lying * tracks + box(b"free", b"", size=2))


def nested_boxes(depth: int) -> bytes:
    """MP4 boxes within one another."""
    inner = b""
    for _ in range(depth):
        inner = box(b"moov", inner)
    return box(b"ftyp", b"M4A \0\0\0\0") + inner


def element(code: str, body: bytes, *, unknown: bool = False) -> bytes:
    """One EBML element; of unknown size, its end is that of what it holds."""
    size = b"\x01" + b"\xff" * 7 if unknown else struct.pack(">Q", 1 << 56 | len(body))
    return bytes.fromhex(code) + size + body


def _matroska(body: bytes) -> bytes:
    return element("1a45dfa3", element("4282", b"webm")) + element("18538067", body, unknown=True)


def huge_number(digits: int, blocks: int) -> bytes:
    """WebM whose time scale is a number of `digits` bytes, by which each block's time is multiplied."""
    scale = element("2ad7b1", b"\x7f" + bytes(digits - 1))
    return _matroska(scale + element("a3", b"\x81\0\1\x80") * blocks)


def nested_elements(depth: int) -> bytes:
    """WebM segments of unknown size within one another."""
    return _matroska(bytes.fromhex("18538067" + "01" + "ff" * 7) * depth)
