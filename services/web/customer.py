"""The customer's pages: `/` takes an order, `/orders/{id}` shows what becomes of it."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from services.api.deps import Wired
from services.web.pages import PageRoute, page

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/")
def start(request: Request, box: Wired) -> Response:
    """Choose a menu, then speak, send a file, or type."""
    return page(request, "customer/start.html", menus=box.menus.list())
