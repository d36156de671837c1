"""The outermost layer: request id, safe headers, last resort, and one log line and one count a request.

Plain ASGI, because Starlette's `BaseHTTPMiddleware` buffers streams and hides disconnects.
"""

from __future__ import annotations

import re
import time
import uuid
from typing import TYPE_CHECKING

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.observability import tracing
from schemas.errors import SaycartError
from services.api import problems
from services.api.gate.origin import HSTS, Own
from services.api.gate.pace import Paced
from services.api.gate.rates import counted
from services.api.metrics import Metrics
from services.api.problems import LOGGED_CHARS, RequestRefused

if TYPE_CHECKING:
    from infra.observability.otlp import Serving

log = structlog.get_logger(__name__)

_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,63}", re.ASCII)
_BODILESS = frozenset({"GET", "HEAD"})
# Asked all day by machines; a line for each would bury the orders.
_QUIET = frozenset({"/livez", "/readyz", "/metrics", "/metrics/database"})
# What anybody may fetch without a limit, and so write no lines by.
_UNLIMITED = ("/static/", "/problems/", "/docs", "/openapi.json")
# Where orders come in, by an integration and from a page, and what says that one was accepted.
_ACCEPTS = {("POST", "/v1/orders"): 202, ("POST", "/orders"): 303}


class Gate:
    """Wraps the whole app, so that no answer leaves without its request id."""

    def __init__(self, app: ASGIApp, metrics: Metrics, own: Own) -> None:
        self.app = app
        self.metrics = metrics
        self.own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        headers = Headers(scope=scope)
        request_id = _request_id(headers)
        scope.setdefault("state", {})["request_id"] = request_id
        traced = scope["state"]["traced"] = None if scope["path"] in _QUIET else _traced(scope, headers)
        status = 0
        noted = False
        started = time.perf_counter()
        paced = scope["state"]["paced"] = Paced(receive)

        def note() -> None:
            nonlocal noted
            if not noted:
                noted = True
                self._note(scope, status, time.perf_counter() - started)
                if traced is not None:
                    traced.done(_route(scope), status)

        async def marked(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                if paced.whole_at and _ACCEPTS.get((scope["method"], scope["path"])) == status:
                    self.metrics.accepted.observe(time.monotonic() - paced.whole_at)
                self._mark(MutableHeaders(scope=message), scope, request_id)
            await send(message)
            if message["type"] == "http.response.body" and not message.get("more_body", False):
                note()  # now, and not after the background tasks: for the client the call is over

        with structlog.contextvars.bound_contextvars(request_id=request_id):
            try:
                refused = _refuse(scope) or self.own.refusal(scope)
                if refused is None:
                    await self.app(scope, paced, marked)
                else:
                    told = await counted(Request(scope), refused)
                    await problems.response(Request(scope), told)(scope, receive, marked)
            except Exception:
                log.exception("request.failed", method=scope["method"], path=_logged(scope))
                if status:
                    raise  # half an answer is out; only cutting the connection is honest now
                fault = problems.response(Request(scope), SaycartError("unforeseen"))
                await fault(scope, receive, marked)
            finally:
                note()
                if traced is not None:
                    traced.leave()

    def _mark(self, headers: MutableHeaders, scope: Scope, request_id: str) -> None:
        headers["X-Request-ID"] = request_id
        if scope["app"].state.draining:
            headers["Connection"] = "close"  # the client's next request goes to a living server
        headers["X-Content-Type-Options"] = "nosniff"
        if self.own.asks_hsts(scope):
            headers["Strict-Transport-Security"] = HSTS
        headers.setdefault("Referrer-Policy", "no-referrer")
        # Answers are data; only /docs is a page, and it brings a policy of its own.
        headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        self.metrics.saw(scope["method"], _route(scope), status, seconds)
        if scope["path"] not in _QUIET and not (status < 400 and scope["path"].startswith(_UNLIMITED)):
            log.info(
                "request.done",
                method=scope["method"][:LOGGED_CHARS],
                path=_logged(scope),
                status=status,
                ms=round(seconds * 1000, 1),
            )


def _logged(scope: Scope) -> str:
    """Return the path as far as a log line has it: a long one would push other lines out of the log."""
    path: str = scope["path"]
    return path[:LOGGED_CHARS]


def _route(scope: Scope) -> str:
    """The template of the route that was found."""
    route: str = getattr(scope.get("route"), "path", "other")
    return route


def _traced(scope: Scope, headers: Headers) -> Serving | None:
    # A key alone makes a caller's trace count: see `credential`.
    bears = headers.get("authorization", "").lower().startswith("bearer ")
    return tracing.serving(scope["method"], headers.get("traceparent"), shows_key=bears)


def _request_id(headers: Headers) -> str:
    """The caller's X-Request-ID where it is fit for logs, else one of ours."""
    given = headers.get("x-request-id", "")
    return given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex


def _refuse(scope: Scope) -> RequestRefused | None:
    """What no route should have to think about."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return RequestRefused("malformed_body", 400, "The URL has a NUL character.")
    if scope["method"] in _BODILESS:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers or headers.get("content-length", "0").strip("0"):
            # Nothing reads it, and an answer that takes long would be paid for by whatever comes.
            return RequestRefused(
                "malformed_body",
                400,
                f"A {scope['method']} can't have a body.",
                headers={"Connection": "close"},
            )
    return None
