"""A multipart order, streamed: the recording goes to disk while it arrives, the small fields to memory.

Starlette's own `form()` first spools the whole body and then asks what it is. Here each refusal comes at
the earliest byte that justifies it: the declared length, the cap, or the first 4 KiB of the recording.
File name and declared content type of the recording are ignored; its first bytes say what it is. Until
`Upload.commit` the recording is a temporary file, and every way out of `receive` but success removes it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import anyio
from fastapi import Request
from python_multipart import MultipartParser
from python_multipart.exceptions import FormParserError
from python_multipart.multipart import parse_options_header
from starlette.concurrency import run_in_threadpool

from infra.blobs.store import BlobWriter, DiskFull
from schemas.errors import AudioTooLarge, StorageFull, StorageUnavailable, UnsupportedAudio
from services.api.gate.bodies import declared_length
from services.api.problems import RequestRefused, invalid
from services.transcription.audio.containers import HEAD_BYTES, sniff

AUDIO = "audio"
# Bytes of each small field. What metadata may be is told in `schemas/shape.py`, without the spaces and
# escapes that it may come with.
FIELD_CAPS = {"menu": 200, "language": 40, "metadata": 48_000}
# Boundaries, part headers and the small fields, next to the recording.
OVERHEAD_BYTES = 64_000
# Of a recording that are written at once: each visit to a thread waits for the interpreter twice.
BLOCK_BYTES = 128_000


@dataclass(slots=True)
class Upload:
    """What one multipart body held. `writer` is not committed; `audio_format` is by its first bytes."""

    writer: BlobWriter
    audio_format: str
    fields: dict[str, str]


@dataclass(slots=True)
class _Form:
    """Takes the parser's callbacks. Recording bytes wait in `pending` until the caller has written them."""

    limit: int
    fields: dict[str, bytearray] = field(default_factory=dict)
    head: bytearray = field(default_factory=bytearray)
    pending: list[bytes] = field(default_factory=list)
    audio_bytes: int = 0
    audio_format: str | None = None
    audio_seen: bool = False
    finished: bool = False
    _part: str = ""
    _header: tuple[bytearray, bytearray] = field(default_factory=lambda: (bytearray(), bytearray()))
    _headers: dict[str, bytes] = field(default_factory=dict)

    def parser(self, boundary: bytes) -> MultipartParser:
        return MultipartParser(
            boundary,
            {
                "on_part_begin": self._headers.clear,
                "on_header_field": lambda data, a, b: self._header[0].extend(data[a:b]),
                "on_header_value": lambda data, a, b: self._header[1].extend(data[a:b]),
                "on_header_end": self._header_end,
                "on_headers_finished": self._headers_finished,
                "on_part_data": self._part_data,
                "on_part_end": self._part_end,
                "on_end": self._end,
            },
        )

    def _header_end(self) -> None:
        name, value = self._header
        self._headers[name.decode("latin-1").lower()] = bytes(value).strip(b" \t")
        name.clear()
        value.clear()

    def _headers_finished(self) -> None:
        disposition, options = parse_options_header(self._headers.get("content-disposition"))
        name = options.get(b"name")
        if disposition != b"form-data" or not name:
            raise _malformed("a part has no name in its Content-Disposition")
        if self._headers.get("content-transfer-encoding", b"binary").lower() not in _PLAIN:
            raise _malformed("a part is transfer-encoded, which multipart/form-data no longer allows")
        self._part = name.decode("utf-8", "replace")
        place = f"/{self._part}"
        if self._part != AUDIO and self._part not in FIELD_CAPS:
            known = ", ".join((AUDIO, *FIELD_CAPS))
            raise invalid([(place[:80], f"unknown field; this call takes {known}")])
        if self._part in self.fields or (self._part == AUDIO and self.audio_seen):
            raise invalid([(place, "given twice")])
        if self._part == AUDIO:
            self.audio_seen = True
        else:
            self.fields[self._part] = bytearray()

    def _part_data(self, data: bytes, start: int, end: int) -> None:
        if self._part != AUDIO:
            value = self.fields[self._part]
            value += data[start:end]
            if len(value) > FIELD_CAPS[self._part]:
                raise invalid([(f"/{self._part}", f"over {FIELD_CAPS[self._part]} bytes")])
            return
        self.audio_bytes += end - start
        if self.audio_bytes > self.limit:
            raise too_large(self.limit)
        if self.audio_format is None:
            self.head += data[start:end]
            if len(self.head) >= HEAD_BYTES:
                self._sniff()
        else:
            self.pending.append(data[start:end])

    def _part_end(self) -> None:
        if self._part == AUDIO and self.audio_format is None:
            if not self.head:
                raise RequestRefused(
                    "audio_empty",
                    422,
                    "The recording has 0 bytes.",
                    hint="Record again and send the whole file.",
                    problems=[("/audio", "is empty")],
                )
            self._sniff()

    def _sniff(self) -> None:
        found = sniff(bytes(self.head))
        if found is None:
            raise UnsupportedAudio("The recording's first bytes don't match a supported format.")
        self.audio_format = found.value
        self.pending.append(bytes(self.head))

    def _end(self) -> None:
        self.finished = True


_PLAIN = frozenset({b"7bit", b"8bit", b"binary"})


def _malformed(what: str) -> RequestRefused:
    return RequestRefused("malformed_body", 400, f"The multipart body can't be read: {what}.")


def too_large(limit: int) -> AudioTooLarge:
    return AudioTooLarge(f"The recording is over {limit} bytes.")


@contextmanager
def disk() -> Iterator[None]:
    """What a failed write means for the caller: StorageFull (507), or StorageUnavailable (503)."""
    try:
        yield
    except DiskFull as error:
        raise StorageFull("There is no space left for the recording.") from error
    except OSError as error:
        raise StorageUnavailable(f"The recording could not be written: {error}") from error


async def receive(request: Request, begin: Callable[[], BlobWriter], limit: int) -> Upload:
    """Read the request's multipart body into the recording that `begin` opens; `limit` is its cap in bytes.

    Raises:
        AudioTooLarge, UnsupportedAudio: of the recording.
        RequestRefused: unreadable (400), too slow (408), empty recording or bad fields (422).
        StorageUnavailable, StorageFull: the disk does not take it.
        ClientDisconnect: the client went away; nothing stays behind.
    """
    if (declared_length(request) or 0) > limit + OVERHEAD_BYTES:
        raise too_large(limit)
    _, options = parse_options_header(request.headers.get("content-type"))
    form = _Form(limit)
    try:
        parser = form.parser(options[b"boundary"])
    except (KeyError, FormParserError):
        raise _malformed("the content type has no usable boundary") from None
    with disk():
        writer = await run_in_threadpool(begin)
    try:
        await _pump(request, form, parser, writer)
        return Upload(writer, _complete(form), _texts(form))
    except BaseException as error:
        # Shielded: a cancelled request must not leave its file behind.
        with anyio.CancelScope(shield=True):
            await run_in_threadpool(writer.discard)
        if isinstance(error, FormParserError):
            raise _malformed(str(error)[:200]) from None
        raise


async def _pump(request: Request, form: _Form, parser: MultipartParser, writer: BlobWriter) -> None:
    total = 0
    async for chunk in request.stream():
        total += len(chunk)
        if total > form.limit + OVERHEAD_BYTES:
            raise too_large(form.limit)
        parser.write(chunk)
        if sum(map(len, form.pending)) >= BLOCK_BYTES:
            await _flush(form, writer)
    await _flush(form, writer)


async def _flush(form: _Form, writer: BlobWriter) -> None:
    if form.pending:
        with disk():
            await run_in_threadpool(writer.write, b"".join(form.pending))
        form.pending.clear()


def _complete(form: _Form) -> str:
    if not form.finished:
        raise _malformed("it ends before its closing boundary")
    if form.audio_format is None:
        raise invalid([("/audio", "is missing")])
    return form.audio_format


def _texts(form: _Form) -> dict[str, str]:
    try:
        return {name: value.decode() for name, value in form.fields.items()}
    except UnicodeDecodeError:
        raise invalid([(f"/{name}", "is not UTF-8") for name in form.fields]) from None
