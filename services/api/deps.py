"""What the routes share: the wired container, the caller's name, page sizes and entity tags."""

from __future__ import annotations

import hashlib
from typing import Annotated

from fastapi import Depends, Query, Request

from services.bootstrap import Container

MAX_PAGE = 100


def container(request: Request) -> Container:
    wired: Container = request.app.state.container
    return wired


Wired = Annotated[Container, Depends(container)]
Cursor = Annotated[str | None, Query(max_length=300, description="`next_cursor` of the page before")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="rows a page")]


def client_name(request: Request) -> str:
    """Whose idempotency keys these are: a fingerprint of the caller's API key, or `anonymous`.

    The key is not checked here, it only keeps callers apart; it is hashed so that no secret is stored.
    """
    key = request.headers.get("x-api-key") or request.headers.get("authorization", "")
    return f"key-{hashlib.sha256(key.encode()).hexdigest()[:32]}" if key else "anonymous"


def matches(request: Request, etag: str) -> bool:
    """Whether If-None-Match names `etag`; compared weakly, as RFC 9110 wants for GET."""
    header = request.headers.get("if-none-match", "")
    wanted = {tag.strip().removeprefix("W/") for tag in header.split(",") if tag.strip()}
    return "*" in wanted or etag.removeprefix("W/") in wanted


def leaving(request: Request) -> bool:
    """Whether this server is shutting down, which a balancer should know."""
    return bool(request.app.state.draining)


async def disconnected(request: Request) -> None:
    """Return when the client has gone, or has been answered; what is left of its body is thrown away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
