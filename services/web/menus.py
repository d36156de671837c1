"""The menu pages: browse, search, edit, and what changed between versions."""

from __future__ import annotations

from fastapi import APIRouter, Request
from starlette.responses import Response

from services.api.deps import Wired
from services.web.pages import PageRoute, page

router = APIRouter(include_in_schema=False, route_class=PageRoute)


@router.get("/menu")
def listed(request: Request, box: Wired) -> Response:
    """The menus there are."""
    return page(request, "menu/list.html", menus=box.menus.list())
