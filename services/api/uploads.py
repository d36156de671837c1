"""Multipart uploads: parse the form with size limits and write the recording to the store.

The file name and declared content type are ignored: the first bytes decide the format. Until it is committed
the recording is a temporary file.
"""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass

import anyio
from fastapi import Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import FormData, UploadFile
from starlette.formparsers import MultiPartException, MultiPartParser

from infra.blobs.store import BlobWriter
from infra.observability import tracing
from schemas.errors import AudioTooLarge, StorageUnavailable, UnsupportedAudio
from services.api.gate.bodies import declared_length
from services.api.problems import RequestRefused, invalid
from services.transcription.audio.containers import HEAD_BYTES, sniff

AUDIO = "audio"
# Bytes of each small field. Limits of metadata, without spaces and escapes, are in `schemas/shape.py`.
FIELD_CAPS = {"menu": 200, "language": 40, "metadata": 48_000, "confirm": 5}
NO_FIELDS: Mapping[str, int] = {}
# Boundaries, part headers and the small fields.
OVERHEAD_BYTES = 64_000
BLOCK_BYTES = 1_000_000


@dataclass(slots=True)
class Upload:
    """The content of a multipart body. `writer` is not yet committed."""

    writer: BlobWriter
    audio_format: str
    fields: dict[str, str]


@contextmanager
def disk() -> Iterator[None]:
    """Translate OSError to StorageUnavailable (503)."""
    try:
        yield
    except OSError as error:
        raise StorageUnavailable(f"The recording could not be written: {error}") from error


@asynccontextmanager
async def received(
    request: Request, begin: Callable[[], BlobWriter], limit: int, caps: Mapping[str, int]
) -> AsyncIterator[Upload]:
    """Read a multipart body into the recording that `begin` opens; `limit` is its maximum size in bytes, and
    `caps` those of the other fields.

    Raises:
        AudioTooLarge, UnsupportedAudio: the recording is refused.
        RequestRefused: unreadable (400), empty recording or bad fields (422).
        StorageUnavailable, StorageFull: it can't be written.
        ClientDisconnect: the client disconnected; nothing is stored.
    """
    with disk():
        writer = await run_in_threadpool(begin)
    try:
        with tracing.span("receive recording"), disk():
            form = await _form(request, limit)
            try:
                recording, fields = _parts(form, caps)
                if (recording.size or 0) > limit:
                    raise _too_large(limit)
                audio_format = await run_in_threadpool(_copy, recording, writer)
            finally:
                await form.close()
        yield Upload(writer, audio_format, fields)
    except BaseException:
        # Shielded, so that a cancelled request leaves no file. Does nothing after a commit.
        with anyio.CancelScope(shield=True):
            await run_in_threadpool(writer.discard)
        raise


async def _form(request: Request, limit: int) -> FormData:
    """Parse the form; Starlette keeps files over a megabyte on disk."""
    most = limit + OVERHEAD_BYTES
    if (declared_length(request) or 0) > most:
        raise _too_large(limit)

    async def capped() -> AsyncGenerator[bytes, None]:
        total = 0
        async for chunk in request.stream():
            total += len(chunk)
            if total > most:
                raise _too_large(limit)
            yield chunk

    parser = MultiPartParser(
        request.headers, capped(), max_files=2, max_fields=10, max_part_size=max(FIELD_CAPS.values())
    )
    try:
        return await parser.parse()
    except MultiPartException as error:
        raise RequestRefused(
            "malformed_body", 400, f"The multipart body can't be read: {error.message}"
        ) from None


def _parts(form: FormData, caps: Mapping[str, int]) -> tuple[UploadFile, dict[str, str]]:
    items = form.multi_items()
    for name, value in items:
        if problem := _problem(name, value, sum(other == name for other, _ in items), caps):
            raise invalid([(f"/{name}"[:80], problem)])
    parts = dict(items)
    recording = parts.pop(AUDIO, None)
    if not isinstance(recording, UploadFile):
        raise invalid([(f"/{AUDIO}", "is missing")])
    return recording, {name: str(value) for name, value in parts.items()}


def _problem(name: str, value: UploadFile | str, times: int, caps: Mapping[str, int]) -> str | None:
    if name != AUDIO and name not in caps:
        return f"unknown field; this call takes {', '.join((AUDIO, *caps))}"
    if times > 1:
        return "given twice"
    if isinstance(value, UploadFile) != (name == AUDIO):
        return "must be a file, with a file name" if name == AUDIO else "must be text"
    if isinstance(value, str) and len(value.encode()) > caps[name]:
        return f"over {caps[name]} bytes"
    if name == "confirm" and value not in ("", "true", "false"):
        return "must be true or false"
    return None


def _copy(recording: UploadFile, writer: BlobWriter) -> str:
    """Write the recording to the store; return its format."""
    head = recording.file.read(HEAD_BYTES)
    if not head:
        raise RequestRefused(
            "audio_empty",
            422,
            "The recording has 0 bytes.",
            hint="Record again and send the whole file.",
            problems=[("/audio", "is empty")],
        )
    audio_format = sniff(head)
    if audio_format is None:
        raise UnsupportedAudio("This isn't a recording we can read.")
    recording.file.seek(0)
    while block := recording.file.read(BLOCK_BYTES):
        writer.write(block)
    return audio_format.value


def _too_large(limit: int) -> AudioTooLarge:
    return AudioTooLarge(f"The recording is over {limit} bytes.")
