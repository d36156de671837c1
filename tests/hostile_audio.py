"""Small, well-formed recordings that are expensive to decode. Written byte by byte (RFC 9639, FLAC), since no
encoder produces them."""

from __future__ import annotations

import struct
from collections.abc import Iterable

FLAC_RATES = {16_000: 5, 8_000: 4, 22_050: 6, 24_000: 7, 44_100: 9, 48_000: 10}
_BLOCK = 16  # samples: the minimum for a frame


def _crc(data: bytes, polynomial: int, bits: int) -> int:
    crc = 0
    for byte in data:
        crc ^= byte << bits - 8
        for _ in range(8):
            crc = crc << 1 ^ (polynomial if crc >> bits - 1 else 0)
            crc &= (1 << bits) - 1
    return crc


def _coded(number: int) -> bytes:
    """A frame number in FLAC's extended UTF-8."""
    if number < 0x80:
        return bytes([number])
    tail, free_bits = [], 6
    while number >= 1 << free_bits:
        tail.append(0x80 | number & 0x3F)
        number, free_bits = number >> 6, free_bits - 1
    return bytes([0xFF << free_bits + 1 & 0xFF | number, *reversed(tail)])


def flac_frame(number: int, *, channels: int = 1, rate: int = 16_000) -> bytes:
    """Sixteen equal samples in 13 bytes plus 3 per channel."""
    head = bytes([0xFF, 0xF8, 0x60 | FLAC_RATES[rate], channels - 1 << 4 | 4 << 1])
    head += _coded(number) + bytes([_BLOCK - 1])
    body = head + bytes([_crc(head, 0x07, 8)]) + b"\0\1\0" * channels
    return body + _crc(body, 0x8005, 16).to_bytes(2)


def flac(frames: Iterable[bytes], *, total: int = 0, rate: int = 16_000) -> bytes:
    """A FLAC stream; `total` is the number of samples in its header, 0 for unknown."""
    packed = rate << 44 | 15 << 36 | total
    info = _BLOCK.to_bytes(2) * 2 + bytes(6) + struct.pack(">Q", packed) + bytes(16)
    return b"fLaC\x80\0\0\x22" + info + b"".join(frames)


def alternating_channels(frames: int) -> bytes:
    """FLAC that alternates between mono and stereo: each frame needs a new resampler."""
    return flac(flac_frame(n, channels=1 + n % 2) for n in range(frames))


def alternating_rates(frames: int) -> bytes:
    """FLAC that alternates between 8 and 16 kHz."""
    return flac(flac_frame(n, rate=(8_000, 16_000)[n % 2]) for n in range(frames))


def tiny_frames(frames: int) -> bytes:
    """FLAC of uniform frames of sixteen samples."""
    return flac(flac_frame(n) for n in range(frames))
