"""JSON bodies, read under a cap and checked for what no store can keep or no reader can show.

FastAPI's own reader takes a body of any length, and `NaN`; so the calls read their bodies here, and
`document.py` adds their models to the OpenAPI document.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from typing import Any, TypeVar

from fastapi import Request
from pydantic import BaseModel, ValidationError
from pydantic_core import from_json
from starlette.concurrency import run_in_threadpool

from schemas.field_problems import field_problems
from schemas.shape import BODY, Rule, faults
from services.api.problems import RequestRefused, invalid

MAX_JSON_BYTES = 1_000_000
"""Of a whole menu and of a form; everything else is far smaller."""
MAX_MODEL_BYTES = 100_000
"""Of any other call's body: a corrected cart of 12 lines with all options takes half of it."""
# Bytes from which a body is parsed in a thread.
LONG_BYTES = 8_000

Model = TypeVar("Model", bound=BaseModel)
Taken = TypeVar("Taken")


def media_type(request: Request) -> str:
    return request.headers.get("content-type", "").partition(";")[0].strip().lower()


def declared_length(request: Request) -> int | None:
    """Content-Length in bytes, or None when the body comes in chunks."""
    text = request.headers.get("content-length", "")
    return int(text) if text.isdecimal() else None


def parse_json(data: bytes | str, rule: Rule = BODY, root: str = "") -> Any:
    """JSON as RFC 8259 has it, within `rule` (`schemas/shape.py`).

    Raises:
        ValueError: it is no such JSON; one sentence for the caller.
        RequestRefused: it breaks the rule: 422 with a pointer for each place. `root` is the document's own.
    """
    try:
        document = from_json(data, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"not JSON: {error}") from None
    if found := faults(document, rule, root):
        raise invalid(found)
    return document


async def read_bytes(request: Request, limit: int) -> bytes:
    """The request's body.

    Raises:
        RequestRefused: over `limit` bytes (413).
    """
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
    """The request's JSON document, as a dependency of a route.

    Raises:
        RequestRefused: another content type (415), too long (413), not JSON (400), or JSON of a depth, size
            or number that is not taken (422).
    """
    return await _taken_apart(request, MAX_JSON_BYTES, parse_json)


async def read_model(request: Request, model: type[Model], limit: int = MAX_MODEL_BYTES) -> Model:
    """The request's JSON document as a `model`; errors as in `document`, and 422 as in `validated`."""
    return await _taken_apart(request, limit, lambda data: validated(model, parse_json(data)))


async def _taken_apart(request: Request, limit: int, take: Callable[[bytes], Taken]) -> Taken:
    """What `take` makes of the body: in a thread where it is long, so that other requests go on."""
    kind = media_type(request)
    if kind != "application/json" and not kind.endswith("+json"):
        raise RequestRefused(
            "unsupported_media_type", 415, f"This call takes application/json, not {kind or 'nothing'!r}."
        )
    try:
        data = await read_bytes(request, limit)
        return await run_in_threadpool(take, data) if len(data) > LONG_BYTES else take(data)
    except ValueError as error:
        problems = [("/", f"is {error}")]
        raise RequestRefused("malformed_body", 400, f"The body is {error}.", problems=problems) from None


def validated(model: type[Model], document: Any, root: str = "") -> Model:
    """`document` as a `model`.

    Raises:
        RequestRefused: 422 with a pointer for each bad field.
    """
    try:
        return model.model_validate(document)
    except ValidationError as error:
        raise invalid([(root + place, text) for place, text in field_problems(error)]) from None


def body(model: type[Model]) -> Callable[[Request], Awaitable[Model]]:
    """A FastAPI dependency that reads the body as `model`, and that the OpenAPI document has it by."""

    async def read(request: Request) -> Model:
        return await read_model(request, model)

    read.takes = model  # type: ignore[attr-defined]
    return read


def takes(model: type[BaseModel], example: Mapping[str, Any] | None = None) -> dict[str, Any]:
    """`openapi_extra` for a call that reads its body, a `model`, by itself; `app.py` lists the model. Without
    an `example` its model has some."""
    media = {"schema": ref(model)} | ({"example": example} if example else {})
    return {"requestBody": {"required": True, "content": {"application/json": media}}}


def ref(model: type[BaseModel]) -> Mapping[str, str]:
    return {"$ref": f"#/components/schemas/{model.__name__}"}
