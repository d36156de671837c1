"""Shared by routes: the container, addresses, page parameters and entity tags."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Annotated
from urllib.parse import urlsplit

from fastapi import Depends, Query, Request
from fastapi.dependencies.models import Dependant

from infra.addresses import counted_as
from services.bootstrap import Container

MAX_PAGE = 100


def container(request: Request) -> Container:
    wired: Container = request.app.state.container
    return wired


def own_address(request: Request, path: str) -> str:
    """Return the public URL of one of our pages."""
    public = urlsplit(container(request).settings.public_url)
    ours = public if public.netloc else request.url
    return f"{ours.scheme}://{ours.netloc}{path}"


Cursor = Annotated[str | None, Query(max_length=300, description="`next_cursor` of the previous page")]
Limit = Annotated[int, Query(ge=1, le=MAX_PAGE, description="rows per page")]


Wired = Annotated[Container, Depends(container)]
"""For sign-in only, which needs no shop; other routes get a `ShopScope` (`access.py`)."""


def dependants(root: Dependant) -> Iterator[Dependant]:
    """Yield a route's dependant and those of all its dependencies."""
    yield root
    for dependency in root.dependencies:
        yield from dependants(dependency)


def address(request: Request) -> str:
    """Return the client's address as limits count it; see `counted_as`."""
    return counted_as(request.client.host if request.client else "") or "unknown"


def matches(request: Request, etag: str) -> bool:
    """Return True if If-None-Match has `etag`, by the weak comparison of RFC 9110."""
    header = request.headers.get("if-none-match", "")
    tags = {tag.strip().removeprefix("W/") for tag in header.split(",")}
    return "*" in tags or etag.removeprefix("W/") in tags


async def disconnected(request: Request) -> None:
    """Return when the client has gone, or has been answered; what is left of its body is thrown away."""
    while (await request.receive())["type"] != "http.disconnect":
        pass
