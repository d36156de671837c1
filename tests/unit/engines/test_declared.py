"""What containers declare of themselves, on files laid out byte by byte."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from schemas.errors import AudioDamaged
from services.transcription.audio.containers import Container
from services.transcription.audio.declared import Declared, check_whole, read_declared

FRAME = bytes.fromhex("fffb9064") + bytes(413)  # 26.1 ms


def wav(size: int, audio: bytes, *, magic: bytes = b"RIFF", before: bytes = b"") -> bytes:
    fmt = struct.pack("<4sIHHIIHH", b"fmt ", 16, 1, 1, 16_000, 32_000, 2, 16)
    return magic + bytes(4) + b"WAVE" + before + fmt + struct.pack("<4sI", b"data", size) + audio


def flac(total: int) -> bytes:
    packed = 16_000 << 44 | 15 << 36 | total
    return b"fLaC\x80\0\0\x22" + bytes(10) + struct.pack(">Q", packed) + bytes(16)


def page(sequence: int, granule: int, body: bytes, *, flags: int = 0, serial: int = 5) -> bytes:
    head = struct.pack("<4sBBqIII", b"OggS", 0, flags, granule, serial, sequence, 0)
    lacing = bytes([255] * (len(body) // 255) + [len(body) % 255])
    return head + bytes([len(lacing)]) + lacing + body


def ogg(*, end: bool = True) -> bytes:
    pages = [page(0, 0, b"OpusHead", flags=2), page(1, 0, b"OpusTags")]
    pages += [page(n, (n - 1) * 48_000, bytes(300), flags=4 if end and n == 4 else 0) for n in (2, 3, 4)]
    return b"".join(pages)


def xing(frames: int) -> bytes:
    return FRAME[:36] + b"Info" + struct.pack(">II", 1, frames) + FRAME[48:]


def box(name: bytes, body: bytes, *, size: int | None = None) -> bytes:
    return struct.pack(">I4s", len(body) + 8 if size is None else size, name) + body


def track(handler: bytes, seconds: int) -> bytes:
    mdhd = box(b"mdhd", struct.pack(">IIIII", 0, 0, 0, 1000, seconds * 1000))
    return box(b"trak", box(b"mdia", mdhd + box(b"hdlr", bytes(8) + handler + bytes(12))))


def m4a(movie_s: int, *tracks: bytes) -> bytes:
    mvhd = box(b"mvhd", struct.pack(">IIIII", 0, 0, 0, 600, movie_s * 600))
    return box(b"ftyp", b"M4A \0\0\0\0") + box(b"moov", mvhd + b"".join(tracks))


def element(code: str, body: bytes, *, unknown: bool = False) -> bytes:
    return (
        bytes.fromhex(code)
        + (b"\x01" + b"\xff" * 7 if unknown else struct.pack(">Q", 1 << 56 | len(body)))
        + body
    )


def webm(*, duration_ms: float | None = None, blocks: int = 50, live: bool = True) -> bytes:
    info = element("4489", struct.pack(">d", duration_ms)) if duration_ms is not None else b""
    clusters = b""
    for start in range(0, blocks, 25):
        inner = b"".join(
            element("a3", b"\x81" + struct.pack(">hB", 60 * n, 0x80) + bytes(40))
            for n in range(min(25, blocks - start))
        )
        clusters += element("1f43b675", element("e7", struct.pack(">H", start * 60)) + inner, unknown=live)
    body = element("1549a966", element("2ad7b1", b"\x0f\x42\x40") + info) + clusters
    return element("1a45dfa3", element("4282", b"webm")) + element("18538067", body, unknown=live)


SECOND = bytes(32_000)


@pytest.mark.parametrize(
    ("container", "data", "seconds"),
    [
        (Container.WAV, wav(64_000, SECOND * 2), 2.0),
        (Container.WAV, wav(64_000, SECOND * 2 + b"LIST\x04\0\0\0abcd"), 2.0),
        (Container.WAV, wav(0xFFFFFFFF, SECOND), None),  # written to a pipe
        (Container.WAV, wav(0x7FFFFFFF - 36, SECOND), None),
        (Container.WAV, wav(0, SECOND), None),
        (
            Container.WAV,
            wav(
                0xFFFFFFFF,
                SECOND,
                magic=b"RF64",
                before=struct.pack("<4sIQQQI", b"ds64", 28, 9, 32_000, 9, 0),
            ),
            1.0,
        ),
        (Container.FLAC, flac(48_000), 3.0),
        (Container.FLAC, flac(0), None),
        (Container.OGG, ogg(), 2.0),
        (Container.OGG, ogg(end=False), 2.0),  # a recorder stopped hard
        (Container.OGG, ogg() + b"tags of a strange tool", 2.0),
        (Container.MP3, FRAME * 100, 100 * 1152 / 44_100),
        (Container.MP3, xing(300) + FRAME * 300, 300 * 1152 / 44_100),
        (Container.MP3, xing(0) + FRAME * 10, 11 * 1152 / 44_100),
        (Container.MP3, FRAME * 100 + b"TAG" + bytes(125), 100 * 1152 / 44_100),
        (Container.MP3, b"ID3\x04\0\0\0\0\0\x05" + bytes(5) + FRAME * 100, 100 * 1152 / 44_100),
        (Container.M4A, m4a(5, track(b"soun", 6)) + box(b"mdat", bytes(99)), 5.0),
        (Container.M4A, m4a(9, track(b"vide", 9), track(b"soun", 6)) + box(b"mdat", b""), 6.0),
        (Container.M4A, m4a(0, track(b"soun", 0)) + box(b"moof", b"") + box(b"mdat", bytes(9)), None),
        (Container.M4A, m4a(5, track(b"soun", 5)) + box(b"mdat", bytes(99), size=0), 5.0),
        (Container.WEBM, webm(), None),  # Chrome's recorder
        (Container.WEBM, webm(duration_ms=3000), None),  # 50 blocks of 60 ms: its blocks reach the end
        (Container.WEBM, webm(duration_ms=3000, live=False), None),
    ],
)
def test_whole(container: Container, data: bytes, seconds: float | None) -> None:
    declared = read_declared(data, container)
    assert declared.cut is None
    assert declared.seconds == (None if seconds is None else pytest.approx(seconds))


@pytest.mark.parametrize(
    ("container", "data"),
    [
        (Container.WAV, wav(64_000, SECOND)),
        (Container.WAV, wav(0, b"")[:30]),
        (Container.FLAC, flac(48_000)[:20]),
        (Container.OGG, ogg()[:-1]),
        (Container.OGG, ogg()[:-330]),  # in the last page's header
        (Container.OGG, page(0, 0, b"OpusHead", flags=2) + page(2, 48_000, bytes(10), flags=4)),
        (Container.OGG, page(0, 0, b"OpusHead", flags=2) + page(1, 48_000, bytes(254 + 255)[:-254])[:-1]),
        (Container.MP3, (FRAME * 100)[:-1]),
        (Container.MP3, (FRAME * 100)[:-415]),
        (Container.MP3, (xing(300) + FRAME * 300)[:-200]),
        (Container.MP3, b"ID3\x04\0\0\0\0\x7f\x7f" + bytes(50)),
        (Container.M4A, (m4a(5, track(b"soun", 6)) + box(b"mdat", bytes(99)))[:-1]),
        (Container.M4A, box(b"ftyp", b"M4A \0\0\0\0") + box(b"mdat", bytes(99))),
        (Container.M4A, m4a(5, track(b"soun", 6))[:-3]),
        (Container.M4A, m4a(0, track(b"soun", 0)) + box(b"moof", b"")),
        (Container.WEBM, webm()[:-1]),
        (Container.WEBM, webm()[:-50]),
        (Container.WEBM, webm(live=False)[:-53]),
        (Container.WEBM, webm(duration_ms=6000)),  # on a block's boundary: the Duration tells
    ],
)
def test_cut_off(container: Container, data: bytes, tmp_path: Path) -> None:
    assert read_declared(data, container).cut
    file = tmp_path / "order"
    file.write_bytes(data)
    with pytest.raises(AudioDamaged, match="cut off"):
        check_whole(file, container, 60.0)


def test_shorter_than_declared(tmp_path: Path) -> None:
    file = tmp_path / "order.flac"
    file.write_bytes(flac(48_000))
    check_whole(file, Container.FLAC, 3.0)
    with pytest.raises(AudioDamaged, match=r"declares 3\.0 s, but only 2\.9 s"):
        check_whole(file, Container.FLAC, 2.9)
    file.write_bytes(xing(300) + FRAME * 300)
    check_whole(file, Container.MP3, 300 * 1152 / 44_100 - 0.1)  # delay and padding are trimmed
    with pytest.raises(AudioDamaged):
        check_whole(file, Container.MP3, 7.0)


STARTS = {
    Container.WAV: wav(64_000, b"")[:44],
    Container.FLAC: flac(9)[:8],
    Container.OGG: page(0, 0, b"OpusHead", flags=2),
    Container.MP3: FRAME,
    Container.M4A: box(b"ftyp", b"M4A \0\0\0\0") + box(b"moov", b"", size=200) + box(b"trak", b"", size=99),
    Container.WEBM: webm(blocks=1)[:-30],
}


@given(st.sampled_from(list(Container)), st.binary(max_size=300))
def test_no_bytes_raise(container: Container, rest: bytes) -> None:
    assert isinstance(read_declared(STARTS[container] + rest, container), Declared)
    assert isinstance(read_declared(rest, container), Declared)
