"""The menu pages: menus, their items by category and their versions, for everyone who may order; and, for
managers, the import of a file of any kind: first what it would change, then the new version."""

from __future__ import annotations

from contextlib import suppress
from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated

from fastapi import APIRouter, Query, Request
from starlette.responses import JSONResponse, Response

from schemas.errors import InvalidMenu, NotFound
from schemas.menu import Menu, MenuVersion, spoken_key
from services.api.gate.bodies import parse_json
from services.api.problems import RequestRefused, invalid
from services.api.routes.menus import publish
from services.shop_scope import ShopScope
from services.tills.menus.changes import changes
from services.tills.menus.confusable import warnings
from services.tills.menus.detect import read_menu
from services.tills.menus.source import Overrides
from services.web.customers.order_access import Visiting
from services.web.pages import Fields, Form, PageRoute, in_main, page, redirect
from services.web.staff.staff import PublishScope

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
        raise NotFound(f"There is no menu “{menu_id}”")
    return page(request, "menu/versions.html", menu=stored[0], versions=stored)


@router.get("/{menu_id}/export")
def export(
    menu_id: str, box: Visiting, version: Annotated[int | None, Query(ge=1, le=2**31 - 1)] = None
) -> Response:
    """Download the menu document."""
    menu = box.menus.get(menu_id, version).menu
    return JSONResponse(menu.model_dump(mode="json", exclude_none=True))


@router.post("")
def check(request: Request, box: PublishScope, form: Fields) -> Response:
    """Show what a menu file would change; nothing is stored."""
    file = form.files.get("menu")
    if file is None or not (data := file.file.read()):
        raise invalid([("/menu", "choose a menu file")])
    imported = read_menu([(file.filename or "menu", data)], _given(box, form))
    try:
        menu, dropped = Menu.read(imported.document)
        box.check_menu(menu)
    except InvalidMenu as error:
        raise InvalidMenu(imported.located(error.problems)) from None
    before: MenuVersion | None = None
    with suppress(NotFound):
        before = box.menus.get(menu.id)
    return page(
        request,
        "menu/changes.html",
        headers=in_main(request),
        menu=menu,
        version=before.version if before else 0,
        changes=list(changes(before.menu if before else None, menu)),
        lacking=imported.not_imported,
        notes=imported.located((*dropped, *warnings(menu))),
        document=menu.model_dump_json(exclude_none=True),
    )


def _given(box: ShopScope, form: Form) -> Overrides:
    """Return what the form says of the menu, and the menu that is replaced."""
    known: dict[str, str | None] = {}
    if target := form.get("menu_id"):
        old = box.menus.get(target).menu
        known = old.model_dump(include={"id", "name", "currency", "language", "time_zone"})
    fields = {field: form.get(field) or None for field in ("name", "currency", "time_zone")}
    return Overrides(**fields, defaults=known)


@router.post("/versions")
def store(request: Request, box: PublishScope, form: Fields) -> Response:
    """Store the document of a file that was checked."""
    try:
        menu = Menu.parse(parse_json(form.get("document")))
    except ValueError as error:
        raise RequestRefused("malformed_body", 400, f"The document is {error}.") from None
    publish(box, menu, after=form.version)
    return redirect(request, f"/menu/{menu.id}/versions")
