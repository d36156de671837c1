"""`/docs` and `/openapi.json`: every call of the API, for whoever holds a key or is signed in."""

from __future__ import annotations

from typing import Annotated, Any

from fastapi import APIRouter, Request
from starlette.responses import HTMLResponse, JSONResponse

from schemas.shops.access import Access, Scope
from services.api.gate.access import asking, credential
from services.api.routes import docs
from services.web.staff import staff

router = APIRouter(include_in_schema=False)


async def _insider(request: Request) -> Access:
    """Raises Unauthorized, as `credential`, where nobody is signed in either."""
    signed = await staff.counted_visitor(request)
    return signed.desk.access if signed else await credential(request)


# Any good credential will do, so no scope is checked; this one stands for "somebody who is known".
Insider = Annotated[Access, asking(_insider, Scope.MENUS_READ)]


@router.get("/docs")
def reference(request: Request, _known: Insider) -> HTMLResponse:
    """Every call, its parameters, its body and its answers."""
    return docs.reference(request.app.openapi())


@router.get("/openapi.json")
def document(request: Request, _known: Insider) -> JSONResponse:
    """The same for machines."""
    found: dict[str, Any] = request.app.openapi()
    return JSONResponse(found)
