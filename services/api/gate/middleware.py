"""The outermost layer: request id, safe headers, last resort, and one log line and one count a request.

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
from services.api.gate.rates import counted
from services.api.metrics import Metrics
from services.api.problems import LOGGED_CHARS, RequestRefused

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
        call = _Call(self, scope, receive, send)
        with structlog.contextvars.bound_contextvars(request_id=call.request_id):
            try:
                refused = _refuse(scope) or self.own.refusal(scope)
                if refused is None:
                    await self.app(scope, call.receive, call.send)
                else:
                    await call.problem(await counted(Request(scope), refused))
            except Exception:
                log.exception("request.failed", method=scope["method"], path=_logged(scope))
                if call.status:
                    raise  # half an answer is out; only cutting the connection is honest now
                await call.problem(SaycartError("unforeseen"))
            finally:
                call.note()
                if call.traced is not None:
                    call.traced.leave()


class _Call:
    """One request and its answer, whose `status` is 0 until it begins."""

    def __init__(self, gate: Gate, scope: Scope, receive: Receive, send: Send) -> None:
        headers = Headers(scope=scope)
        self._gate, self._scope, self._receive, self._send = gate, scope, receive, send
        # The caller's own where it is fit for logs.
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
            self.note()  # now, and not after the background tasks: for the client the call is over

    def _mark(self, headers: MutableHeaders) -> None:
        headers["X-Request-ID"] = self.request_id
        if self._scope["app"].state.draining:
            headers["Connection"] = "close"  # the client's next request goes to a living server
        headers["X-Content-Type-Options"] = "nosniff"
        headers.setdefault("Referrer-Policy", "no-referrer")
        # Answers are data; only /docs is a page, and it brings a policy of its own.
        headers.setdefault("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'")

    def note(self) -> None:
        """Count and log the answer, once."""
        if self._noted:
            return
        self._noted = True
        scope, seconds = self._scope, time.perf_counter() - self._began
        self._gate.metrics.saw(scope["method"], _route(scope), self.status, seconds)
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
    """Return the path as far as a log line has it: a long one would push other lines out of the log."""
    path: str = scope["path"]
    return path[:LOGGED_CHARS]


def _route(scope: Scope) -> str:
    """The template of the route that was found."""
    route: str = getattr(scope.get("route"), "path", "other")
    return route


def _refuse(scope: Scope) -> RequestRefused | None:
    """What no route should have to think about."""
    if "\0" in scope["path"] or b"%00" in scope["query_string"]:
        return RequestRefused("malformed_body", 400, "The URL has a NUL character.")
    if scope["method"] in _BODILESS:
        headers = Headers(scope=scope)
        if "transfer-encoding" in headers or headers.get("content-length", "0").strip("0"):
            # Nothing reads it, and an answer that takes long would be paid for by whatever comes.
            what = f"A {scope['method']} can't have a body."
            return RequestRefused("malformed_body", 400, what, headers={"Connection": "close"})
    return None
