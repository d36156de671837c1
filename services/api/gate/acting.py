"""Who acts by a request, for the audit log."""

from __future__ import annotations

from fastapi import Request

from schemas.shops.audit import MAX_CHARS, Actor
from services.api.problems import request_id_of


def acting(request: Request, name: str) -> Actor:
    """`name` (`key:...`, `staff:...`) with the peer's address and the id that the logs have.

    Behind a proxy the address is the one that uvicorn takes from it, if it trusts the proxy.
    """
    address = request.client.host if request.client else ""
    fit = 1 <= len(address) <= MAX_CHARS and address.isprintable()
    return Actor(name, address if fit else None, request_id_of(request))
