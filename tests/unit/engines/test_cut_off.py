"""WAV and Ogg that end too soon, laid out byte by byte; the real decoder's part is in `test_audio.py`."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.transcription.audio.containers import AudioContainer
from services.transcription.audio.cut_off import is_cut_off

SECOND = bytes(32_000)


def wav(size: int, audio: bytes, *, magic: bytes = b"RIFF", before: bytes = b"") -> bytes:
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16)
    return magic + bytes(4) + b"WAVE" + before + fmt + struct.pack("<4sI", b"data", size) + audio


def rf64(seconds: int) -> bytes:
    size = struct.pack("<4sIQQQI", b"ds64", 28, 9, seconds * 32_000, 9, 0)
    return wav(0xFFFFFFFF, SECOND, magic=b"RF64", before=size)


def page(sequence: int, body: bytes, *, flags: int = 0) -> bytes:
    lacing = bytes([255] * (len(body) // 255) + [len(body) % 255])
    head = struct.pack("<4sBBqIII", b"OggS", 0, flags, sequence, 5, sequence, 0)
    return head + bytes([len(lacing)]) + lacing + body


def ogg(*, end: bool = True) -> bytes:
    return page(0, b"OpusHead", flags=2) + page(1, bytes(300)) + page(2, bytes(300), flags=4 * end)


@pytest.mark.parametrize(
    ("container", "data", "cut"),
    [
        (AudioContainer.WAV, wav(64_000, SECOND * 2), False),
        (AudioContainer.WAV, wav(64_000, SECOND * 2 + b"LIST\x04\0\0\0abcd"), False),
        (AudioContainer.WAV, wav(0xFFFFFFFF, SECOND), False),  # written to a pipe
        (AudioContainer.WAV, wav(0x7FFFFFFF - 36, SECOND), False),
        (AudioContainer.WAV, wav(0, SECOND), False),
        (AudioContainer.WAV, rf64(1), False),
        (AudioContainer.WAV, rf64(2), True),
        (AudioContainer.WAV, wav(64_000, SECOND), True),
        (AudioContainer.WAV, wav(0, b"")[:30], True),
        (AudioContainer.OGG, ogg(), False),
        (AudioContainer.OGG, ogg(end=False), False),  # a recorder stopped hard
        (AudioContainer.OGG, ogg() + b"tags of a strange tool", False),
        (AudioContainer.OGG, ogg()[:-1], True),
        (AudioContainer.OGG, ogg()[:-310], True),  # in the last page's header
        (AudioContainer.OGG, page(0, bytes(255))[:26] + b"\x01\xff" + bytes(255), True),  # its packet goes on
        (AudioContainer.FLAC, b"fLaC", False),  # the decoding child compares
    ],
)
def test_cut_off(container: AudioContainer, data: bytes, cut: bool, tmp_path: Path) -> None:
    (file := tmp_path / "order").write_bytes(data)
    assert is_cut_off(file, container) is cut


STARTS = (wav(64_000, b"")[:44], page(0, b"OpusHead"), b"")


@given(start=st.sampled_from(STARTS), rest=st.binary(max_size=300))
def test_any_bytes_have_an_answer(
    start: bytes, rest: bytes, tmp_path_factory: pytest.TempPathFactory
) -> None:
    (file := tmp_path_factory.getbasetemp() / "order").write_bytes(start + rest)
    for container in (AudioContainer.WAV, AudioContainer.OGG):
        assert is_cut_off(file, container) in (True, False)
