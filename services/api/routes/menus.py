"""`/v1/menus`: import and export, each import an immutable version; and the schema that carts follow."""

from __future__ import annotations

from typing import Annotated, Any

import structlog
from fastapi import APIRouter, Depends, Query, Request
from starlette.responses import JSONResponse, Response

from schemas.cart import PUBLISHED, SCHEMA_VERSION
from schemas.errors import InvalidMenu
from schemas.menu import Menu, MenuVersion
from services.api import present
from services.api.deps import matches
from services.api.gate.access import ImportsMenus, ReadsMenus
from services.api.gate.bodies import document, takes
from services.shop_scope import ShopScope

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/v1", tags=["menus"])

_EXAMPLE = {
    "id": "corner-cafe",
    "name": "Corner Cafe",
    "currency": "USD",
    "language": "en",
    "items": [{"sku": "bagel", "name": "bagel", "price": 399}],
}

Document = Annotated[Any, Depends(document)]


@router.get("/menus", response_model=present.MenuList)
def list_menus(box: ReadsMenus) -> present.MenuList:
    """List the menus. Each one's newest version without the items, by id."""
    return present.MenuList(menus=[present.menu_summary(header) for header in box.menus.headers()])


@router.get("/menus/{menu_id}", response_model=Menu, responses={304: {"description": "unchanged"}})
def get_menu(
    menu_id: str,
    request: Request,
    box: ReadsMenus,
    version: Annotated[int | None, Query(ge=1, le=2**31 - 1, description="default: the newest")] = None,
) -> Response:
    """Get a menu. As it can be imported again; its version is in `Menu-Version`."""
    stored = box.menus.get(menu_id, version)
    headers = _headers(stored)
    if matches(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return JSONResponse(stored.menu.model_dump(mode="json", exclude_none=True), headers=headers)


@router.put(
    "/menus/{menu_id}",
    response_model=present.MenuSummary,
    responses={201: {"model": present.MenuSummary, "description": "a new version"}},
    openapi_extra=takes(Menu, _EXAMPLE),
)
def put_menu(menu_id: str, box: ImportsMenus, sent: Document) -> Response:
    """Import a menu. 201 for a new version, 200 when the newest one says the same already.

    It is stored only if its grammar compiles. Repeated names of the same thing are dropped, each with a note
    in the response. The decode worker caches the menu's prompt when it is idle.
    """
    menu, notes = Menu.read(sent)
    if menu.id != menu_id:
        raise InvalidMenu([("/id", f"is {menu.id!r}, but the URL says {menu_id!r}")])
    stored, created = publish(box, menu)
    return JSONResponse(
        present.menu_summary(stored.header, notes).model_dump(mode="json"),
        status_code=201 if created else 200,
        headers=_headers(stored) | {"Location": f"/v1/menus/{menu.id}?version={stored.version}"},
    )


@router.get(
    "/schema/cart.json",
    response_class=Response,
    responses={
        200: {"content": {"application/schema+json": {}}, "description": "JSON Schema, with its `version`"},
        304: {"description": "unchanged"},
    },
)
def get_cart_schema(request: Request, _box: ReadsMenus) -> Response:
    """Get the cart's JSON Schema. The decoding mask is generated from it."""
    headers = {"ETag": f'"{SCHEMA_VERSION}"', "Cache-Control": "no-cache"}
    if matches(request, headers["ETag"]):
        return Response(status_code=304, headers=headers)
    return JSONResponse(PUBLISHED, media_type="application/schema+json", headers=headers)


def publish(
    box: ShopScope, menu: Menu, after: int | None = None, *, edited: bool = False
) -> tuple[MenuVersion, bool]:
    """Compile a menu's grammar, then store it. Return the stored version, and True if it is new.

    Raises:
        InvalidMenu: its grammar does not compile.
        Conflict: the newest version is not `after`.
    """
    box.check_menu(menu)
    stored, created = box.menus.put(menu, by=box.by, after=after, edited=edited)
    log.info("menu.imported", menu=menu.id, version=stored.version, created=created)
    return stored, created


def _headers(stored: MenuVersion) -> dict[str, str]:
    return {
        "ETag": f'"{stored.version}-{stored.digest[:16]}"',
        "Menu-Version": str(stored.version),
        "Cache-Control": "no-cache",
    }
