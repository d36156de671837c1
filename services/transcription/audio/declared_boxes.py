"""What MP4 boxes and Matroska elements declare: containers of parts within parts."""

from __future__ import annotations

import struct
from collections.abc import Iterator

from services.transcription.audio.containers import Declared

_SEGMENT, _INFO, _CLUSTER = 0x18538067, 0x1549A966, 0x1F43B675
_TIMESTAMP_SCALE, _DURATION, _CLUSTER_TIME = 0x2AD7B1, 0x4489, 0xE7
_SIMPLE_BLOCK, _BLOCK_GROUP, _BLOCK = 0xA3, 0xA0, 0xA1
_OPENED = frozenset((_SEGMENT, _INFO, _CLUSTER, _BLOCK_GROUP))
_NUMBER_BYTES = 8  # of an unsigned integer (RFC 8794); one of megabytes would make each sum with it slow
_LAST_BLOCK_S = 0.5  # the last block's own length: Opus at most 0.12 s, laced or PCM blocks more


def _boxes(data: bytes, at: int, end: int) -> Iterator[tuple[bytes, int, int]]:
    """(type, start of the body, end of the box) of each box in `data[at:end]`; an end may lie beyond `end`,
    which must not be followed inside: boxes that overlap could be walked over again and again."""
    while at < end:
        size, name = struct.unpack_from(">I4s", data, at)
        body = at + 8
        if size == 1:
            (size,) = struct.unpack_from(">Q", data, body)
            body += 8
        stop = end if size == 0 else at + size
        if stop < body:
            return  # a size smaller than its own header: no box, and nothing can follow
        yield name, body, stop
        at = stop


def m4a(data: bytes) -> Declared:
    """Durations of the movie and of its first sound track; every box within the file.

    The smaller of the two counts: the track's is of its media, before edits trim it. Fragmented files
    (`moof`), as Safari records, may declare 0; there the boxes alone must be whole.
    """
    movie: tuple[int, int] | None = None
    last = b""
    for name, body, stop in _boxes(data, 0, len(data)):
        if stop > len(data):
            return Declared(cut=f"{stop - len(data)} bytes of its {_printable(name)} box are missing")
        if name == b"moov":
            movie = body, stop
        last = name
    if movie is None:
        return Declared(cut="its moov box is missing")
    if last == b"moof":
        return Declared(cut="its last fragment has no samples")
    found = [seconds for seconds in _durations(data, *movie) if seconds]
    return Declared(min(found) if found else None)


def _durations(data: bytes, at: int, end: int) -> Iterator[float]:
    """Seconds of `mvhd`, and of `mdhd` of the first track whose handler is `soun`."""
    sound = False
    for name, body, stop in _boxes(data, at, end):
        if name == b"mvhd":
            yield _seconds(data, body)
        elif name == b"trak" and not sound:
            trak_end = min(stop, end)
            for inner, media, media_end in _boxes(data, body, trak_end):
                if inner != b"mdia":
                    continue
                parts = {part: start for part, start, _ in _boxes(data, media, min(media_end, trak_end))}
                handler = parts.get(b"hdlr", len(data))
                if data[handler + 8 : handler + 12] == b"soun" and b"mdhd" in parts:
                    sound = True
                    yield _seconds(data, parts[b"mdhd"])


def _seconds(data: bytes, body: int) -> float:
    """Duration over timescale of an `mvhd` or `mdhd` box, both versions; 0 when unknown (all ones)."""
    if data[body] == 1:
        scale, duration = struct.unpack_from(">IQ", data, body + 20)
        unknown = (1 << 64) - 1
    else:
        scale, duration = struct.unpack_from(">II", data, body + 12)
        unknown = (1 << 32) - 1
    return duration / scale if scale and duration != unknown else 0.0


def _printable(name: bytes) -> str:
    return name.decode("ascii", "replace") if name.isalnum() else "last"


def _number(data: bytes, at: int, *, keep_marker: bool) -> tuple[int, int, bool]:
    """An EBML variable-length number: (value, its length in bytes, whether all its bits are set)."""
    length = 9 - data[at].bit_length()
    if length > 8 or at + length > len(data):
        raise IndexError("EBML number ends past the file")
    value = int.from_bytes(data[at : at + length])
    plain = value & (1 << 7 * length) - 1
    return (value if keep_marker else plain), length, plain == (1 << 7 * length) - 1


def webm(data: bytes) -> Declared:
    """Every element within the file, and the last block near the Duration, where there is one.

    The blocks' times are compared, not the decoded length: silence may be left out of a stream (DTX), and
    another track may be longer than the sound. Elements of unknown size (live recordings) are opened, and
    their children follow one another, so one flat walk sees all that matters.
    """
    at, scale, cluster_time = 0, 1_000_000, 0
    duration = reached = 0.0
    while at < len(data):
        element, id_length, _ = _number(data, at, keep_marker=True)
        size, size_length, unknown = _number(data, at + id_length, keep_marker=False)
        body = at + id_length + size_length
        stop = body if unknown else body + size
        if stop > len(data):
            return Declared(cut=f"{stop - len(data)} bytes of its last element are missing")
        if element in (_TIMESTAMP_SCALE, _CLUSTER_TIME) and size > _NUMBER_BYTES:
            return Declared(cut="one of its numbers is too long")
        if element == _TIMESTAMP_SCALE:
            scale = int.from_bytes(data[body:stop])
        elif element == _DURATION and size in (4, 8):
            (duration,) = struct.unpack_from(">f" if size == 4 else ">d", data, body)
        elif element == _CLUSTER_TIME:
            cluster_time = int.from_bytes(data[body:stop])
        elif element in (_SIMPLE_BLOCK, _BLOCK):
            _, track_length, _ = _number(data, body, keep_marker=False)
            (offset,) = struct.unpack_from(">h", data, body + track_length)
            reached = max(reached, (cluster_time + offset) * scale / 1e9)
        at = body if element in _OPENED or unknown else stop
    declared = duration * scale / 1e9
    if declared > reached + _LAST_BLOCK_S:  # False for a NaN, too
        return Declared(declared, cut=f"its blocks end at {reached:.1f} s of {declared:.1f} s")
    return Declared()
