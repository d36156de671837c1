"""The menu pages for everyone who may order: menus, their items by category, their versions."""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from schemas.errors import NotFound
from schemas.menu import spoken_key
from services.shop_scope import ShopScope
from services.web.customers.order_access import Visiting
from services.web.pages import PageRoute, page

router = APIRouter(prefix="/menu", include_in_schema=False, route_class=PageRoute)

SHOWN_VERSIONS = 50


@router.get("")
def listed(request: Request, box: Visiting) -> Response:
    """List the menus."""
    return page(request, "menu/list.html", menus=box.menus.headers())


@router.get("/{menu_id}")
def browse(menu_id: str, request: Request, box: Visiting, q: str = "") -> Response:
    """Show a menu by category; `q` filters by name, alias or sku."""
    return browsed(request, box, menu_id, q)


def browsed(request: Request, box: ShopScope, menu_id: str, q: str) -> Response:
    """Return the page of a menu."""
    stored = box.menus.get(menu_id)
    menu = stored.menu.at(datetime.now(UTC))
    query = spoken_key(q)
    items = [item for item in menu.items if _matches(query, item.name, *item.aliases, item.sku)]
    order = list(dict.fromkeys(item.category for item in menu.items))
    items.sort(key=lambda item: order.index(item.category))
    groups = [
        (group, [o for o in group.options if _matches(query, o.name, *o.aliases, o.id, group.name)])
        for group in menu.option_groups
    ]
    return page(
        request,
        "menu/browse.html",
        stored=stored,
        menu=menu,
        q=q,
        categories=[(name, list(part)) for name, part in groupby(items, key=lambda item: item.category)],
        groups=[(group, options) for group, options in groups if options],
        size_names={size.id: size.name for size in menu.sizes},
    )


def _matches(query: str, *names: str) -> bool:
    return any(query in spoken_key(name) for name in names)


@router.get("/{menu_id}/versions")
def versions(menu_id: str, request: Request, box: Visiting) -> Response:
    """List the newest versions."""
    stored = box.menus.versions(menu_id, limit=SHOWN_VERSIONS)
    if not stored:
        raise NotFound(f"No menu {menu_id}")
    return page(request, "menu/versions.html", menu=stored[0], versions=stored)


@router.get("/{menu_id}/export")
def export(
    menu_id: str, box: Visiting, version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> Response:
    """Download the menu document."""
    menu = box.menus.get(menu_id, version).menu
    return JSONResponse(menu.model_dump(mode="json", exclude_none=True))
