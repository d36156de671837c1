"""What Ogg pages and MP3 frames declare: containers that are a row of small parts."""

from __future__ import annotations

import struct
from dataclasses import dataclass

from services.transcription.audio.containers import Declared, id3_length, mp3_frame

_OPUS_RATE = 48_000  # granules of Opus count 48 kHz samples, whatever was recorded (RFC 7845)
_MP3_TRIMMED = 3000  # samples: encoder delay (576 to 1105), decoder delay (529) and padding (up to 1152)


def ogg(data: bytes) -> Declared:
    """The first stream's pages: each whole, numbered without a gap, the last ending with a whole packet.

    Seconds are those between its first and last granule, so that a stream joined in its middle, whose
    granules begin high, is not taken for a long one. A missing end-of-stream mark alone is accepted:
    recorders that were stopped hard leave it out (RFC 7845, 4.1), and their last page is whole.
    """
    serial, expected, rate = -1, 0, _OPUS_RATE
    granules: list[int] = []
    unfinished = False
    at = 0
    while at < len(data):
        if data[at : at + 4] != b"OggS"[: len(data) - at]:
            # Not a page: foreign bytes after the stream (tags of some tools) are not the recording's.
            break
        page = _page(data, at)
        if page is None:
            return Declared(cut="its last page is not whole")
        if serial < 0:
            serial, expected, rate = page.stream, page.number, _rate(data, page.body)
        if page.stream == serial:
            if page.number != expected:
                return Declared(cut=f"page {expected} is missing")
            expected += 1
            unfinished = page.goes_on
            granules += [page.granule] * (page.granule > 0)
            if page.is_last:
                break
        at = page.end
    if unfinished:
        return Declared(cut="its last packet is not whole")
    if not granules or not rate:
        return Declared()
    return Declared(max(0.0, (granules[-1] - granules[0]) / rate))


@dataclass(frozen=True, slots=True)
class _Page:
    """One page of Ogg: `body` and `end` are where its packets begin and end, `goes_on` whether its last one
    does on the next page."""

    stream: int
    number: int
    granule: int
    is_last: bool
    goes_on: bool
    body: int
    end: int


def _page(data: bytes, at: int) -> _Page | None:
    """The page that begins at `at`; None where not all of it is there."""
    flags, granule, stream, number = struct.unpack_from("<xxxxxBqII", data, at)
    body = at + 27 + data[at + 26]
    lacing = data[at + 27 : body]
    end = body + sum(lacing)
    if end > len(data) or len(lacing) < data[at + 26]:
        return None
    return _Page(stream, number, granule, bool(flags & 4), lacing[-1:] == b"\xff", body, end)


def _rate(data: bytes, body: int) -> int:
    """What a stream's granules count in a second, by its first page."""
    if data[body : body + 7] != b"\x01vorbis":
        return _OPUS_RATE
    (rate,) = struct.unpack_from("<I", data, body + 12)
    return int(rate)


def mp3(data: bytes) -> Declared:
    """The Xing, Info or VBRI frame count, else the frames that stand one after the other.

    The walk ends where no frame follows: a tag, padding, or damage that the decoder steps over.
    """
    at = id3_length(data)
    if at > len(data):
        return Declared(cut="its ID3 tag is not whole")
    first = mp3_frame(data, at)
    if first is None:
        return Declared()
    promised = _promised_frames(data, at, first.samples == 1152, first.mono)
    frames = 0
    while (frame := mp3_frame(data, at)) is not None:
        if at + frame.length > len(data):
            return Declared(cut="its last frame is not whole")
        frames += 1
        at += frame.length
    rest = data[at : at + 16]
    if 0 < len(rest) < 4 and rest.startswith(b"\xff") and promised is None:
        return Declared(cut="its last frame is not whole")
    count = frames if promised is None else promised
    return Declared(count * first.samples / first.rate, tolerance_s=0.05 + _MP3_TRIMMED / first.rate)


def _promised_frames(data: bytes, at: int, mpeg1: bool, mono: bool) -> int | None:
    """Frames that the first one counts, itself left out; None when it is an ordinary frame or says 0."""
    side = (17 if mono else 32) if mpeg1 else (9 if mono else 17)
    xing = at + 4 + side
    if data[xing : xing + 4] in (b"Xing", b"Info"):
        flags, count = struct.unpack_from(">II", data, xing + 4)
        return count or None if flags & 1 else None
    if data[at + 36 : at + 40] == b"VBRI":
        (count,) = struct.unpack_from(">I", data, at + 50)
        return count or None
    return None
