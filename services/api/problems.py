"""Error responses as RFC 9457 problems.

`type` is a stable relative URI (`/problems/<code>`, which the API also serves as a page); a `code` is never
reused. The error classes are in `schemas/errors`, their HTTP statuses in `problem_codes.py`. An unexpected
error becomes a 500 that names only the request id.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any

import structlog
from fastapi import FastAPI, Request
from fastapi.exceptions import RequestValidationError
from fastapi.routing import iter_route_contexts
from pydantic import BaseModel, Field
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.responses import JSONResponse, Response
from starlette.routing import compile_path

from schemas import errors
from schemas.field_problems import field_problems
from services.api.gate.rates import count_refusal
from services.api.problem_codes import STATUS, TITLES

log = structlog.get_logger(__name__)

MEDIA_TYPE = "application/problem+json"

CONFLICT: dict[int | str, dict[str, Any]] = {
    409: {"description": "not in the state this call needs; some answers include the current state"}
}

RETRY_AFTER = {"Retry-After": {"schema": {"type": "integer"}, "description": "seconds"}}

LOGGED_CHARS = 200
"""Most characters of text from a caller, such as a path, in one field of a log line."""

# Seconds before a caller should retry when a dependency is down.
RETRY_AFTER_S = 2


class FieldError(BaseModel):
    """One bad field. `pointer` is a JSON pointer into the body, or `/query/...`, `/header/...`."""

    pointer: str
    detail: str


class Problem(BaseModel):
    """RFC 9457. `code` is the last part of `type`; `retryable`: the same request may work later."""

    type: str
    title: str
    status: int
    detail: str
    hint: str
    code: str
    retryable: bool = False
    request_id: str
    errors: list[FieldError] = Field(default=[], description="each invalid field, if any")


class RequestRefused(errors.InputError):
    """An invalid HTTP request, refused by the API itself.

    `problems` are (pointer, sentence); `extra` are more fields of the problem document.
    """

    def __init__(
        self,
        code: str,
        status: int,
        detail: str,
        *,
        hint: str | None = None,
        title: str | None = None,
        problems: Sequence[tuple[str, str]] = (),
        extra: dict[str, Any] | None = None,
        headers: dict[str, str] | None = None,
    ) -> None:
        super().__init__(detail, hint=hint, title=title)
        self.code = code
        self.status = status
        self.problems = list(problems)
        self.extra = extra or {}
        self.headers = headers or {}


def status_of(error: errors.SaycartError) -> int:
    if isinstance(error, RequestRefused):
        return error.status
    return next(STATUS[cls] for cls in type(error).__mro__ if cls in STATUS)


def invalid(problems: Sequence[tuple[str, str]], detail: str | None = None) -> RequestRefused:
    """Return a 422 for invalid fields, each a (pointer, sentence)."""
    text = detail or "; ".join(f"{path}: {sentence}" for path, sentence in problems[:3])
    return RequestRefused("invalid_input", 422, text, problems=problems)


def conflict(error: errors.Conflict | errors.StaleState, **now: BaseModel) -> RequestRefused:
    """Return a 409 with the current state of the resource."""
    return RequestRefused(
        "conflict",
        409,
        error.detail,
        # The hint of `StaleState` itself is for the log.
        hint=errors.Conflict.hint if error.hint == errors.StaleState.hint else error.hint,
        title=error.title or (TITLES["stale_state"] if isinstance(error, errors.StaleState) else None),
        extra={name: model.model_dump(mode="json", by_alias=True) for name, model in now.items()},
    )


def request_id_of(request: Request) -> str:
    return str(request.scope.get("state", {}).get("request_id", "unknown"))


def describe(request: Request, error: errors.SaycartError) -> tuple[Problem, dict[str, str]]:
    """Return the problem for an error, and its headers. Details of a 500 are only logged."""
    status = status_of(error)
    title = error.title or TITLES.get(error.code) or HTTPStatus(status).phrase
    # Internal details (drivers name hosts and files) are only logged, under the request id.
    internal = status == 500 or isinstance(error, errors.StorageError | errors.EngineError)
    problem = Problem(
        type=f"/problems/{error.code}",
        title=title,
        status=status,
        detail=f"{title}." if internal else error.detail,
        hint=error.hint if status != 500 else errors.SaycartError.hint,
        code=error.code,
        retryable=error.retryable,
        request_id=request_id_of(request),
        errors=[FieldError(pointer=p, detail=d) for p, d in getattr(error, "problems", [])],
    )
    headers = {"Cache-Control": "no-store"}
    if isinstance(error, RequestRefused):
        headers |= error.headers
    if status == 401:
        headers["WWW-Authenticate"] = "Bearer"
    if (wait_s := error.wait_s) is not None:
        headers["Retry-After"] = str(max(1, math.ceil(wait_s)))
    if status == 429:
        headers["Connection"] = "close"  # a retry at once costs the client a new connection
    if status in (503, 507):
        headers.setdefault("Retry-After", str(RETRY_AFTER_S))
    return problem, headers


def response(request: Request, error: errors.SaycartError) -> JSONResponse:
    problem, headers = describe(request, error)
    extra = error.extra if isinstance(error, RequestRefused) else {}
    return JSONResponse(
        problem.model_dump() | extra, status_code=problem.status, media_type=MEDIA_TYPE, headers=headers
    )


def refusal(request: Request, error: Exception) -> errors.SaycartError:
    """Convert an exception that routes raise on purpose to our own, and log it. Re-raise any other."""
    if isinstance(error, RequestValidationError):
        listed = field_problems(error.errors())
        error = invalid([(place.removeprefix("/body"), text) for place, text in listed])
    elif isinstance(error, HTTPException):
        code, detail = {
            404: ("not_found", "No such URL."),
            405: ("method_not_allowed", f"{request.method} is not allowed here."),
        }.get(error.status_code, ("invalid_input", str(error.detail)))
        error = RequestRefused(
            code,
            error.status_code,
            detail,
            hint="See /docs for all calls.",
            headers=dict(error.headers or {}) | (_allowed(request) if error.status_code == 405 else {}),
        )
    if not isinstance(error, errors.SaycartError):
        raise error
    status = status_of(error)
    event = log.error if status == 500 else log.warning if status > 500 else log.info
    event("request.refused", code=error.code, status=status, detail=error.detail[:LOGGED_CHARS])
    return error


def _allowed(request: Request) -> dict[str, str]:
    """Return an Allow header with every method of this path; Starlette's lists only the first route's."""
    methods: set[str] = set()
    for route in iter_route_contexts(request.app.routes):
        path = getattr(route, "path", None)
        if path and compile_path(path)[0].match(request.scope["path"]):
            methods.update(getattr(route, "methods", None) or ())
    return {"Allow": ", ".join(sorted(methods))}


def install(app: FastAPI) -> None:
    """Make the app answer every error with a problem."""

    async def refused(request: Request, error: Exception) -> Response:
        known = refusal(request, error)
        if isinstance(error, HTTPException):  # by Starlette: no such route, method or file
            known = await count_refusal(request, known)
        return response(request, known)

    async def gone(_request: Request, _error: Exception) -> Response:
        # Otherwise a client's disconnect would be logged as our error.
        log.info("request.disconnected")
        return Response(status_code=400)

    for kind in (errors.SaycartError, RequestValidationError, HTTPException):
        app.add_exception_handler(kind, refused)
    app.add_exception_handler(ClientDisconnect, gone)
