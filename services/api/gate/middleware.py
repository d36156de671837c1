"""The outermost layer: request ids, security headers, unexpected errors, and a log line for each request.

Plain ASGI, because Starlette's `BaseHTTPMiddleware` buffers streams and hides disconnects.
"""

from __future__ import annotations

import re
import time
import uuid

import structlog
from starlette.datastructures import Headers, MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infra.observability import tracing
from schemas.errors import SaycartError
from services.api import problems
from services.api.gate.origin import Own
from services.api.gate.rates import count_refusal
from services.api.metrics import Metrics
from services.api.problems import LOGGED_CHARS, RequestRefused

log = structlog.get_logger(__name__)

_SANE_ID = re.compile(r"[A-Za-z0-9][A-Za-z0-9._:-]{7,63}", re.ASCII)
_BODILESS = frozenset({"GET", "HEAD"})
# Polled by machines; their log lines would bury those of orders.
_QUIET = frozenset({"/livez", "/readyz", "/metrics", "/metrics/database"})
# Not rate-limited, so successful requests are not logged.
_UNLIMITED = ("/static/", "/problems/", "/docs", "/openapi.json")
# Calls that accept an order, with the status that says so.
_ACCEPTS = {("POST", "/v1/orders"): 202, ("POST", "/orders"): 303}


class Gate:
    """Wraps the whole app, so that every response has a request id."""

    def __init__(self, app: ASGIApp, metrics: Metrics, own: Own) -> None:
        self.app = app
        self.metrics = metrics
        self.own = own

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        call = _Call(self, scope, receive, send)
        with structlog.contextvars.bound_contextvars(request_id=call.request_id):
            try:
                refused = _refuse(scope) or self.own.refusal(scope)
                if refused is None:
                    await self.app(scope, call.receive, call.send)
                else:
                    await call.problem(await count_refusal(Request(scope), refused))
            except Exception:
                log.exception("request.failed", method=scope["method"], path=_logged(scope))
                if call.status:
                    raise  # the response has begun: cut the connection
                await call.problem(SaycartError("unforeseen"))
            finally:
                call.note()
                if call.traced is not None:
                    call.traced.leave()


class _Call:
    """A request and its response; `status` is 0 until the response begins."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._gate, self._scope, self._receive, self._send = gate, scope, receive, send
        # The caller's id, if it is safe to log.
        given = headers.get("x-request-id", "")
        self.request_id = given if _SANE_ID.fullmatch(given) else uuid.uuid4().hex
        self.traced = None if scope["path"] in _QUIET else tracing.serving(scope["method"])
        scope.setdefault("state", {}).update(request_id=self.request_id)
        self.status = 0
        self._noted = False
        self._began = self._whole_at = time.perf_counter()

    async def problem(self, error: SaycartError) -> None:
        await problems.response(Request(self._scope), error)(self._scope, self._receive, self.send)

    async def receive(self) -> Message:
        message = await self._receive()
        if message["type"] == "http.request":
            self._whole_at = time.perf_counter()
        return message

    async def send(self, message: Message) -> None:
        scope = self._scope
        if message["type"] == "http.response.start":
            self.status = message["status"]
            if _ACCEPTS.get((scope["method"], scope["path"])) == self.status:
                self._gate.metrics.accepted.observe(time.perf_counter() - self._whole_at)
            self._mark(MutableHeaders(scope=message))
        await self._send(message)
        if message["type"] == "http.response.body" and not message.get("more_body", False):
            self.note()  # before background tasks, which the client doesn't wait for

    def _mark(self, headers: MutableHeaders) -> None:
        headers["X-Request-ID"] = self.request_id
        if self._scope["app"].state.draining:
            headers["Connection"] = "close"  # so that the next request goes to another server
        headers["X-Content-Type-Options"] = "nosniff"
        headers.setdefault("Referrer-Policy", "no-referrer")
        # For data; pages set a policy of their own.
        headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

    def note(self) -> None:
        """Count and log the response, once."""
        if self._noted:
            return
        self._noted = True
        scope, seconds = self._scope, time.perf_counter() - self._began
        self._gate.metrics.record(scope["method"], _route(scope), self.status, seconds)
        if scope["path"] not in _QUIET and not (self.status < 400 and scope["path"].startswith(_UNLIMITED)):
            log.info(
                "request.done",
                method=scope["method"][:LOGGED_CHARS],
                path=_logged(scope),
                status=self.status,
                ms=round(seconds * 1000, 1),
            )
        if self.traced is not None:
            self.traced.done(_route(scope), self.status)


def _logged(scope: Scope) -> str:
    """Return the path, shortened: long ones would push other lines out of the rotated logs."""
    path: str = scope["path"]
    return path[:LOGGED_CHARS]


def _route(scope: Scope) -> str:
    """Return the template of the matched route."""
    route: str = getattr(scope.get("route"), "path", "other")
    return route


def _refuse(scope: Scope) -> RequestRefused | None:
    """Return an error for requests that no route should have to handle."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return RequestRefused("malformed_body", 400, "The URL has a NUL character.")
    if scope["method"] in _BODILESS:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers or headers.get("content-length", "0").strip("0"):
            detail = f"A {scope['method']} can't have a body."
            return RequestRefused("malformed_body", 400, detail, headers={"Connection": "close"})
    return None
