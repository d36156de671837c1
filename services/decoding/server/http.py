"""The embedded engine's paths over HTTP, as llama.cpp's server has them."""

from __future__ import annotations

import asyncio
import hmac
import json
from typing import TYPE_CHECKING, Any

import uvicorn
from anyio import from_thread
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from schemas.errors import DecodeCancelled, DecodeInvalid, EngineMisconfigured, InputError

if TYPE_CHECKING:
    from services.decoding.server.service import Reader

LARGEST_BYTES = 4_000_000
"""Of a request: the largest menu and its grammar take less than one."""
MOST_CONNECTIONS = 64
"""At once; more are closed unread."""
SILENT_S = 20
"""Seconds that a request's body may take, and that a connection may send nothing between two answers."""
METRICS = """\
# TYPE llamacpp:requests_processing gauge
llamacpp:requests_processing {processing}
# TYPE llamacpp:requests_deferred gauge
llamacpp:requests_deferred {deferred}
# TYPE llamacpp:tokens_predicted_total counter
llamacpp:tokens_predicted_total {written}
"""
"""By the names of llama.cpp's server."""


def server(reader: Reader, key: str) -> uvicorn.Server:
    """Return the HTTP server of `application`, with its limits on connections."""
    return uvicorn.Server(
        uvicorn.Config(
            application(reader, key),
            http=Connection,
            timeout_keep_alive=SILENT_S,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
    )


class Connection(H11Protocol):
    """A connection that is closed where a client sends no request: uvicorn waits for the first one without
    end, and refuses requests in place of connections."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MOST_CONNECTIONS:
            transport.abort()
        else:
            self._close_if_silent()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:  # a part of a head, or of a refused body
            self._close_if_silent()

    def _close_if_silent(self) -> None:
        self._unset_keepalive_if_required()
        close = self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, close)


def application(reader: Reader, key: str) -> Starlette:
    """Return what serves `reader`; with a `key`, only who shows it gets more than health."""
    paths = _Paths(reader, key)
    faults = (HTTPException, InputError, DecodeInvalid, EngineMisconfigured)
    return Starlette(
        routes=[
            Route("/health", paths.health),
            Route("/lora-adapters", paths.adapters),
            Route("/metrics", paths.metrics),
            Route("/tokenize", paths.tokenize, methods=["POST"]),
            Route("/v1/chat/completions", paths.complete, methods=["POST"]),
        ],
        exception_handlers={
            **dict.fromkeys(faults, _refused),
            **dict.fromkeys((DecodeCancelled, ClientDisconnect), _closed),
        },
    )


class _Paths:
    def __init__(self, reader: Reader, key: str) -> None:
        self._reader, self._key = reader, key

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def adapters(self, request: Request) -> Response:
        self._authorize(request)
        loaded = self._reader.adapter
        return JSONResponse([{"id": 0, "path": loaded, "scale": 1.0}] if loaded else [])

    async def metrics(self, request: Request) -> Response:
        self._authorize(request)
        held = self._reader.in_hand
        counts = {"processing": min(1, held), "deferred": max(0, held - 1), "written": self._reader.written}
        return PlainTextResponse(METRICS.format(**counts), media_type="text/plain; version=0.0.4")

    async def tokenize(self, request: Request) -> Response:
        """While an answer is made: a text that is too long is not to wait its turn."""
        content = (await self._document(request)).get("content")
        if not isinstance(content, str):
            raise InputError("content is a text")
        return JSONResponse({"tokens": await run_in_threadpool(self._reader.tokenize, content)})

    async def complete(self, request: Request) -> Response:
        body = await self._document(request)

        def cancelled() -> bool:
            return from_thread.run(request.is_disconnected)

        return JSONResponse(await run_in_threadpool(self._reader.complete, body, cancelled))

    async def _document(self, request: Request) -> dict[str, Any]:
        # The key first: who has none may not have megabytes read.
        self._authorize(request)
        size = request.headers.get("content-length", "")
        if not size.isdigit() or int(size) > LARGEST_BYTES:
            raise HTTPException(413, f"A request is {LARGEST_BYTES} bytes at most")
        try:
            async with asyncio.timeout(SILENT_S):
                body = await request.body()
            document = json.loads(body)
        except TimeoutError:
            raise HTTPException(408, f"The body did not arrive within {SILENT_S} s") from None
        except ValueError as error:
            raise InputError(f"The request is no JSON: {error}") from None
        if not isinstance(document, dict):
            raise InputError("A request is a JSON object")
        return document

    def _authorize(self, request: Request) -> None:
        shown = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key and not hmac.compare_digest(shown.encode(), self._key.encode()):
            raise HTTPException(401, "The key is missing or wrong")


def _refused(_request: Request, error: Exception) -> Response:
    status, message, headers = 400, str(error)[:500], dict[str, str]()
    if isinstance(error, HTTPException):
        # A body that was not read may still come.
        status, message, headers = error.status_code, error.detail, {"Connection": "close"}
    document = {"error": {"code": status, "type": "invalid_request_error", "message": message}}
    return JSONResponse(document, status, headers)


def _closed(_request: Request, _error: Exception) -> Response:
    """The client closed its connection: nginx's status, for the log alone."""
    return Response(status_code=499)
