"""Read JSON bodies with a size limit, and refuse values that can't be stored or shown.

FastAPI itself accepts bodies of any length, and `NaN`. `document.py` adds the models of these bodies to the
OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool

from schemas.field_problems import field_problems
from schemas.shape import faults
from services.api.problems import RequestRefused, invalid

MAX_JSON_BYTES = 1_000_000
"""For menus and forms; everything else is far smaller."""
MAX_MODEL_BYTES = 100_000
"""For other bodies: a corrected cart of 12 lines with all options takes half of it."""
# Longer bodies are parsed in a thread.
LONG_BYTES = 8_000

Model = TypeVar("Model", bound=BaseModel)
Result = TypeVar("Result")


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def declared_length(request: Request) -> int | None:
    """Content-Length in bytes, or None when the body comes in chunks."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() else None


def parse_json(data: bytes | str, root: str = "", max_bytes: int | None = None) -> Any:
    """Parse JSON (RFC 8259) that keeps to the limits of `schemas/shape.py`.

    Raises:
        ValueError: it is not JSON; the message is for the caller.
        RequestRefused: it is over a limit: 422 with pointers, each prefixed with `root`.
    """
    try:
        document = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if problems := faults(document, root, max_bytes):
        raise invalid(problems)
    return document


async def read_bytes(request: Request, limit: int) -> bytes:
    """Return the request's body; raises RequestRefused (413) if it is over `limit` bytes."""
    too_large = RequestRefused("body_too_large", 413, f"The body is over {limit} bytes.")
    if (declared_length(request) or 0) > limit:
        raise too_large
    data = bytearray()
    async for chunk in request.stream():
        data += chunk
        if len(data) > limit:
            raise too_large
    return bytes(data)


async def document(request: Request) -> Any:
    """Return the request's JSON document; a dependency of routes.

    Raises:
        RequestRefused: another content type (415), too long (413), not JSON (400), or too deep, too large or
            with a number out of range (422).
    """
    return await _parsed(request, MAX_JSON_BYTES, parse_json)


async def read_model(request: Request, model: type[Model], limit: int = MAX_MODEL_BYTES) -> Model:
    """Return the request's JSON document as a `model`; raises as `document` and `validated`."""
    return await _parsed(request, limit, lambda data: validated(model, parse_json(data)))


async def _parsed(request: Request, limit: int, parse: Callable[[bytes], Result]) -> Result:
    """Return the result of `parse` on the body; long bodies are parsed in a thread."""
    kind = media_type(request)
    if kind != "application/json" and not kind.endswith("+json"):
        raise RequestRefused(
            "unsupported_media_type", 415, f"This call takes application/json, not {kind or 'nothing'!r}."
        )
    try:
        data = await read_bytes(request, limit)
        return await run_in_threadpool(parse, data) if len(data) > LONG_BYTES else parse(data)
    except ValueError as error:
        problems = [("/", f"is {error}")]
        raise RequestRefused("malformed_body", 400, f"The body is {error}.", problems=problems) from None


def validated(model: type[Model], document: Any, root: str = "") -> Model:
    """Validate `document` as a `model`; raises RequestRefused (422) with a pointer for each invalid field."""
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise invalid([(root + place, text) for place, text in field_problems(error.errors())]) from None


def body(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """Return a dependency that reads the body as `model` and adds it to the OpenAPI document."""

    async def read(request: Request) -> Model:
        return await read_model(request, model)

    read.takes = model  # type: ignore[attr-defined]
    return read


def takes(model: type[BaseModel], example: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """Return `openapi_extra` for a call that reads its body itself; `app.py` lists the model. Without an
    `example` the model must have some."""
    media = {"schema": ref(model)} | ({"example": example} if example else {})
    return {"requestBody": {"required": True, "content": {"application/json": media}}}


def ref(model: type[BaseModel]) -> Mapping[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
