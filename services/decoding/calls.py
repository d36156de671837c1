"""POSTs to a decode server that other threads can call off.

A blocking HTTP client can't be stopped from outside: closing its socket does not wake the thread that
reads. So requests run on one event loop in a thread of its own, shared by all decoders of a process, and
the caller waits. A cancelled request closes its connection, which llama.cpp and vLLM take for a hint to
stop decoding. Any number of callers may wait at once, which is what continuous batching needs.
"""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent import futures
from typing import Any

import httpx

from infra.observability import tracing
from infra.observability.measures import engine_took
from schemas.errors import DecodeCancelled, EngineMisconfigured, EngineUnavailable

CONNECT_S = 5.0
LEAST_S = 0.01
"""That a request gets of a time that is used up."""
IDLE_S = 2.0
"""After so long a connection is not used again. vLLM's and llama.cpp's servers close one that was idle for
5 s, and a request that is under way in that moment is lost, without an answer."""
POLL_S = 0.1
"""How often a waiting caller looks whether it was called off."""
_ONE_LOOP = threading.Lock()
_LOOPS: dict[int, asyncio.AbstractEventLoop] = {}


class Calls:
    """JSON requests to the server at `url`; each ends within `timeout_s` seconds, however it answers."""

    def __init__(self, url: str, *, timeout_s: float, api_key: str = "") -> None:
        self._timeout_s = timeout_s
        at = httpx.URL(url)
        self._about: tracing.Attributes = {"http.request.method": "POST", "server.address": at.host}
        if at.port is not None:
            self._about = {**self._about, "server.port": at.port}
        headers = {"Authorization": f"Bearer {api_key}"} if api_key else {}
        self._http = httpx.AsyncClient(
            base_url=url,
            headers=headers,
            trust_env=False,
            timeout=httpx.Timeout(None, connect=CONNECT_S),
            limits=httpx.Limits(max_connections=None, max_keepalive_connections=32, keepalive_expiry=IDLE_S),
        )

    def post(
        self,
        path: str,
        body: dict[str, Any],
        *,
        called_off: threading.Event | None = None,
        timeout_s: float | None = None,
        measured_as: str = "decode_request",
    ) -> dict[str, Any]:
        """The answer's document. `timeout_s` is for this one request, in place of the usual; `measured_as`
        names it among the times of engines.

        Raises:
            EngineUnavailable: no answer in time, 408, 429 or 5xx, or no JSON.
            EngineMisconfigured: any other 4xx.
            DecodeCancelled: `called_off` was set before the answer came; the connection is closed.
        """
        with tracing.span(f"POST {path}", self._about, kind="client"), engine_took(measured_as):
            return self._post(path, body, called_off, timeout_s or self._timeout_s)

    def _post(
        self, path: str, body: dict[str, Any], called_off: threading.Event | None, timeout_s: float
    ) -> dict[str, Any]:
        sent = self._http.post(path, json=body, headers=tracing.headers())
        request = asyncio.run_coroutine_threadsafe(asyncio.wait_for(sent, timeout_s), _loop())
        while not futures.wait([request], POLL_S if called_off else None).done:
            if called_off and called_off.is_set():
                request.cancel()
                raise DecodeCancelled("The order was taken away while it was decoded")
        try:
            return _document(request.result())
        except TimeoutError as error:
            raise EngineUnavailable(f"The decode server did not answer within {timeout_s:g} s") from error
        except httpx.HTTPError as error:
            raise EngineUnavailable(f"The decode server did not answer: {error!r:.200}") from error


def _document(answer: httpx.Response) -> dict[str, Any]:
    tracing.note({"http.response.status_code": answer.status_code})
    if answer.status_code >= 500 or answer.status_code in (408, 429):
        raise EngineUnavailable(f"The decode server answered {answer.status_code}", quoted=answer.text[:200])
    if answer.status_code >= 400:
        raise EngineMisconfigured(
            f"The decode server refused ({answer.status_code})", quoted=answer.text[:200]
        )
    try:
        document: dict[str, Any] = answer.json()
    except ValueError as error:
        raise EngineUnavailable("The decode server sent no JSON", quoted=answer.text[:200]) from error
    return document


def _loop() -> asyncio.AbstractEventLoop:
    """This process's loop. By process, since a thread does not survive a fork."""
    pid = os.getpid()
    with _ONE_LOOP:  # threads that come together share one: a client's connections are bound to it
        if pid not in _LOOPS:
            _LOOPS[pid] = asyncio.new_event_loop()
            threading.Thread(target=_LOOPS[pid].run_forever, name="decode-calls", daemon=True).start()
        return _LOOPS[pid]
