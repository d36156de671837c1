"""Connections under deadlines: what uvicorn's own protocol leaves open as long as a client likes.

uvicorn closes a kept connection that is idle, and each byte ends that wait. So nothing in it ends a head that
comes byte by byte, a body that goes on after it was answered, or an answer that is not read. Bodies that a
route reads have their own deadline (`pace.py`).
"""

from __future__ import annotations

import asyncio
import json
from collections import Counter
from typing import Any

import h11
import uvicorn
from uvicorn.protocols.http.h11_impl import H11Protocol
from uvicorn.server import ServerState

from infra.addresses import counted_as, networks, within
from infra.settings import Settings
from services.api.problems import MEDIA_TYPE, TITLES

# Seconds in which the whole head of a request has to come; then its connection is closed (408).
HEAD_S = 10.0
# Seconds that an answer may stand without its client taking any more of it.
UNREAD_S = 60.0
# Seconds that a client which is turned away has to read why.
GOODBYE_S = 1.0
# Of the body of a request that was answered before it had come: by then the client has seen the answer, or
# never looks.
LINGER_S = 20.0
# Bytes of a chunked body in which there may be one line end on average. Each chunk brings two and costs a
# parser's round, so a client could buy a second of ours for 700 kB.
CRUMB_BYTES = 8


class Door:
    """Whose connections are open, and why connections were ended. One for each server, on its event loop."""

    def __init__(self, wanted: Settings) -> None:
        self.head_s = HEAD_S
        self.limit = wanted.address_connections
        self.proxies = networks(wanted.proxies, "SAYCART_PROXIES")
        self.open: Counter[str] = Counter()
        self.ended: Counter[str] = Counter()

    def came(self, client: tuple[str, int] | None) -> str | None:
        """Count a connection; the key under which it was counted, None where it is not."""
        if not self.limit or client is None or within(client[0], self.proxies):
            return None
        address = counted_as(client[0])
        self.open[address] += 1
        return address

    def went(self, address: str | None) -> None:
        if address is not None:
            self.open[address] -= 1
            if not self.open[address]:
                del self.open[address]


class Config(uvicorn.Config):
    """uvicorn's configuration, with the door that its connections come through."""

    def __init__(self, app: Any, door: Door, **named: Any) -> None:
        super().__init__(app, http=Guarded, **named)
        self.door = door


class Guarded(H11Protocol):
    """uvicorn's HTTP/1.1 with deadlines for heads, answers and what follows them, and a limit by address."""

    config: Config

    def __init__(self, config: Config, server_state: ServerState, app_state: dict[str, Any], **named: Any):
        super().__init__(config, server_state, app_state, **named)
        self._door = config.door
        self._address: str | None = None
        self._turned_away = False
        self._timers: dict[str, asyncio.TimerHandle] = {}

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        self._address = self._door.came(self.client)
        if self._address is not None and (over := self._door.open[self._address] - self._door.limit) > 0:
            self._turn_away(at_once=over > self._door.limit)
        else:
            self._start("head", self._door.head_s, self._no_head)

    def connection_lost(self, exc: Exception | None) -> None:
        for kind in list(self._timers):
            self._stop(kind)
        self._door.went(self._address)
        super().connection_lost(exc)

    def data_received(self, data: bytes) -> None:
        if self._turned_away:
            return
        if self._is_crumbs(data):
            self._cut("body in crumbs")
            return
        super().data_received(data)
        if self.transport.is_closing():
            self._stop("head")
        elif self.conn.their_state is h11.IDLE:
            self._start("head", self._door.head_s, self._no_head)
        else:
            self._stop("head")
        self._after_answer()

    def on_response_complete(self) -> None:
        super().on_response_complete()
        self._after_answer()

    def timeout_keep_alive_handler(self) -> None:
        super().timeout_keep_alive_handler()
        self._after_answer()

    def shutdown(self) -> None:
        super().shutdown()
        self._after_answer()

    def pause_writing(self) -> None:
        super().pause_writing()
        self._start("unread", UNREAD_S, self._cut, "answer not read")

    def resume_writing(self) -> None:
        super().resume_writing()
        if not self.transport.is_closing():
            self._stop("unread")

    def _after_answer(self) -> None:
        """Deadlines for a connection whose answer is complete: for what we have still to send, or to hear."""
        if self.transport.is_closing():
            self._start("unread", UNREAD_S, self._cut, "answer not read")
        elif self.conn.our_state is h11.DONE and self.conn.their_state is h11.SEND_BODY:
            self._start("linger", LINGER_S, self._cut, "body after its answer")
        else:
            self._stop("linger")

    def _is_crumbs(self, data: bytes) -> bool:
        """Whether this piece of a chunked body is more framing than body."""
        return (
            self.conn.their_state is h11.SEND_BODY
            and len(data) > 1_000
            and any(name == b"transfer-encoding" for name, _ in self.headers)
            and data.count(b"\r\n") * CRUMB_BYTES > len(data)
        )

    def _start(self, kind: str, seconds: float, do: Any, *args: Any) -> None:
        """Start a timer of this kind, unless one runs: no byte of the client's puts it off."""
        if kind not in self._timers:
            self._timers[kind] = self.loop.call_later(seconds, do, *args)

    def _stop(self, kind: str) -> None:
        if timer := self._timers.pop(kind, None):
            timer.cancel()

    def _no_head(self) -> None:
        if self.transport.is_closing():
            return
        self._door.ended["head too slow"] += 1
        # Who has sent nothing asked nothing: a browser that connects in advance is only let go.
        if self.conn.trailing_data[0]:
            self.transport.write(_problem(408, "head_too_slow", "Send the whole request at once."))
        self.transport.close()
        self._after_answer()

    def _turn_away(self, *, at_once: bool) -> None:
        """Answer before anything is asked. Who comes on and on is not even told."""
        self._turned_away = True
        self._door.ended["too many connections"] += 1
        if at_once:
            self.transport.abort()
            return
        hint = "Reuse connections, or close those you don't need."
        self.transport.write(_problem(503, "too_many_connections", hint, retry_after_s=10))
        # Closing at once would make the kernel throw the answer away where the request is already here.
        self.transport.write_eof()
        self._start("goodbye", GOODBYE_S, self.transport.abort)

    def _cut(self, why: str) -> None:
        self._door.ended[why] += 1
        self.transport.abort()


def _problem(status: int, code: str, hint: str, retry_after_s: int | None = None) -> bytes:
    """A whole answer, as the app would give it, to a request that the app never sees."""
    reason = {408: "Request Timeout", 503: "Service Unavailable"}[status]
    problem = {
        "type": f"/problems/{code}",
        "title": TITLES[code],
        "status": status,
        "detail": f"{TITLES[code]}.",
        "hint": hint,
        "code": code,
        "retryable": True,
        "request_id": "unknown",
        "errors": [],
    }
    body = json.dumps(problem).encode()
    again = f"Retry-After: {retry_after_s}\r\n" if retry_after_s else ""
    head = (
        f"HTTP/1.1 {status} {reason}\r\nContent-Type: {MEDIA_TYPE}\r\nContent-Length: {len(body)}\r\n"
        f"Cache-Control: no-store\r\nConnection: close\r\n{again}\r\n"
    )
    return head.encode() + body
