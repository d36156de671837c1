"""The embedded engine's HTTP API, with the paths of llama.cpp's server."""

from __future__ import annotations

import asyncio
import hmac
from typing import TYPE_CHECKING, TypeVar

import uvicorn
from anyio import from_thread
from pydantic import ValidationError
from starlette.applications import Starlette
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import JSONResponse, Response
from starlette.routing import Route
from uvicorn.protocols.http.h11_impl import H11Protocol

from schemas.errors import DecodeCancelled, DecodeInvalid, EngineMisconfigured, InputError
from services.decoding.server.request import Body, ChatRequest, TextToTokenize

if TYPE_CHECKING:
    from services.decoding.server.service import ChatEngine

MAX_BODY_BYTES = 4_000_000
"""The largest menu with its grammar has less than a quarter of that."""
MAX_CONNECTIONS = 64
"""Further connections are closed unread."""
IDLE_S = 20
"""Timeout of a request's body, and of an idle connection."""

AnyBody = TypeVar("AnyBody", bound=Body)


def server(engine: ChatEngine, key: str) -> uvicorn.Server:
    """Return the HTTP server of `application`, which limits connections."""
    return uvicorn.Server(
        uvicorn.Config(
            application(engine, key),
            http=Connection,
            timeout_keep_alive=IDLE_S,
            lifespan="off",
            log_config=None,
            access_log=False,
        )
    )


class Connection(H11Protocol):
    """A connection that is closed if no request arrives: uvicorn would wait for the first one forever, and
    limits requests rather than connections."""

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        super().connection_made(transport)
        if len(self.connections) > MAX_CONNECTIONS:
            transport.abort()
        else:
            self._close_if_idle()

    def data_received(self, data: bytes) -> None:
        super().data_received(data)
        if self.cycle is None or self.cycle.response_complete:  # part of a header, or of a rejected body
            self._close_if_idle()

    def _close_if_idle(self) -> None:
        self._unset_keepalive_if_required()
        close = self.timeout_keep_alive_handler
        self.timeout_keep_alive_task = self.loop.call_later(self.timeout_keep_alive, close)


def application(engine: ChatEngine, key: str) -> Starlette:
    """Return the API of `engine`; all paths but `/health` need the `key`, if there is one."""
    paths = _Paths(engine, key)
    errors = (HTTPException, InputError, DecodeInvalid, EngineMisconfigured)
    return Starlette(
        routes=[
            Route("/health", paths.health),
            Route("/lora-adapters", paths.adapters),
            Route("/tokenize", paths.tokenize, methods=["POST"]),
            Route("/v1/chat/completions", paths.complete, methods=["POST"]),
        ],
        exception_handlers={
            **dict.fromkeys(errors, _refused),
            **dict.fromkeys((DecodeCancelled, ClientDisconnect), _closed),
        },
    )


class _Paths:
    def __init__(self, engine: ChatEngine, key: str) -> None:
        self._engine, self._key = engine, key

    async def health(self, _request: Request) -> Response:
        return JSONResponse({"status": "ok"})

    async def adapters(self, request: Request) -> Response:
        self._authorize(request)
        loaded = self._engine.adapter
        return JSONResponse([{"id": 0, "path": loaded, "scale": 1.0}] if loaded else [])

    async def tokenize(self, request: Request) -> Response:
        """Count tokens, also during an answer: a transcript over its budget need not wait."""
        text = (await self._read(request, TextToTokenize)).content
        return JSONResponse({"tokens": await run_in_threadpool(self._engine.tokenize, text)})

    async def complete(self, request: Request) -> Response:
        chat = await self._read(request, ChatRequest)

        def cancelled() -> bool:
            return from_thread.run(request.is_disconnected)

        return JSONResponse(await run_in_threadpool(self._engine.complete, chat, cancelled))

    async def _read(self, request: Request, kind: type[AnyBody]) -> AnyBody:
        # Before the body is read.
        self._authorize(request)
        size = request.headers.get("content-length", "")
        if not size.isdigit() or int(size) > MAX_BODY_BYTES:
            raise HTTPException(413, f"A request may have {MAX_BODY_BYTES} bytes")
        try:
            async with asyncio.timeout(IDLE_S):
                return kind.model_validate_json(await request.body())
        except TimeoutError:
            raise HTTPException(408, f"The body did not arrive within {IDLE_S} s") from None
        except ValidationError as error:
            first = error.errors(include_url=False, include_input=False)[0]
            raise InputError(f"{'/'.join(map(str, first['loc']))}: {first['msg']}") from None

    def _authorize(self, request: Request) -> None:
        key = request.headers.get("authorization", "").removeprefix("Bearer ")
        if self._key and not hmac.compare_digest(key.encode(), self._key.encode()):
            raise HTTPException(401, "The key is missing or wrong")


def _refused(_request: Request, error: Exception) -> Response:
    status, message, headers = 400, str(error)[:500], dict[str, str]()
    if isinstance(error, HTTPException):
        # An unread body may still arrive.
        status, message, headers = error.status_code, error.detail, {"Connection": "close"}
    document = {"error": {"code": status, "type": "invalid_request_error", "message": message}}
    return JSONResponse(document, status, headers)


def _closed(_request: Request, _error: Exception) -> Response:
    """The client closed the connection; nginx's status, which only a log shows."""
    return Response(status_code=499)
