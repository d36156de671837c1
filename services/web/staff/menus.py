"""The menu pages: browsing for everyone who may order; for managers sold-out marks, edits, imports, versions.

Menus are immutable: every edit is a new version, stored like an import.
"""

from __future__ import annotations

from datetime import UTC, datetime
from itertools import groupby
from typing import Annotated, Any, TypeVar

import structlog
from fastapi import APIRouter, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.datastructures import UploadFile
from starlette.responses import JSONResponse, Response

from schemas.errors import InvalidMenu, NotFound
from schemas.menu import Item, Menu, Note, spoken_key
from schemas.menus.parts import Option, OptionGroup
from schemas.wording import minor_units
from services.api.gate.bodies import MAX_JSON_BYTES, parse_json
from services.api.problems import RequestRefused, invalid
from services.api.routes.menus import publish
from services.shop_scope import ShopScope
from services.web.customers.order_access import Visiting
from services.web.pages import Fields, Form, PageRoute, is_fragment, page, redirect
from services.web.staff.staff import MenuScope, PublishScope

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/menu", include_in_schema=False, route_class=PageRoute)

SHOWN_VERSIONS = 50
Part = TypeVar("Part", Item, Option)


@router.get("")
def listed(request: Request, box: Visiting) -> Response:
    """List the menus."""
    return page(request, "menu/list.html", menus=box.menus.headers())


@router.get("/{menu_id}")
def browse(menu_id: str, request: Request, box: Visiting, q: str = "") -> Response:
    """Show a menu by category; `q` filters by name, alias or sku."""
    return _browsed(request, box, menu_id, q)


def _browsed(request: Request, box: ShopScope, menu_id: str, q: str) -> Response:
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


@router.get("/{menu_id}/items/{sku}")
def edit(menu_id: str, sku: str, request: Request, box: MenuScope) -> Response:
    """Show the form for one item."""
    stored = box.menus.get(menu_id)
    return page(
        request,
        "menu/item.html",
        stored=stored,
        menu=stored.menu,
        item=_item(stored.menu, sku),
        size_names={size.id: size.name for size in stored.menu.sizes},
    )


@router.post("/{menu_id}/items/{sku}")
def save(menu_id: str, sku: str, request: Request, box: PublishScope, form: Fields) -> Response:
    """Save an item's name, prices, aliases and availability as a new version."""
    menu = box.menus.get(menu_id).menu
    changed = _edited(_item(menu, sku), form, menu.currency)
    items = tuple(changed if item.sku == sku else item for item in menu.items)
    new, notes = _whole(menu, items=items)
    publish(box, new, after=version_of(form))
    return _published(request, new, f"/menu/{menu_id}", notes)


@router.post("/{menu_id}/available")
def available(menu_id: str, request: Request, box: PublishScope, form: Fields) -> Response:
    """Mark an item (`sku`) or option (`group` and `option`) as sold out or available, as a new version."""
    menu = box.menus.get(menu_id).menu
    is_available = form.get("available") == "yes"
    if "sku" in form:
        item = _item(menu, form.get("sku"))
        new, _ = _whole(menu, items=_marked(menu.items, item, is_available))
    else:
        group, option = _option(menu, form.get("group"), form.get("option"))
        sold = group.model_copy(update={"options": _marked(group.options, option, is_available)})
        groups = tuple(sold if one is group else one for one in menu.option_groups)
        new, _ = _whole(menu, option_groups=groups)
    publish(box, new, after=version_of(form))
    if is_fragment(request):
        return _browsed(request, box, menu_id, form.get("q"))
    return redirect(request, f"/menu/{menu_id}")


@router.post("")
async def imported(request: Request, box: PublishScope) -> Response:
    """Import a menu document from a file, as a new version."""
    file = (await request.form()).get("menu")
    data = await file.read(MAX_JSON_BYTES + 1) if isinstance(file, UploadFile) else b""
    if not data:
        raise invalid([("/menu", "choose a menu file (JSON)")])
    if len(data) > MAX_JSON_BYTES:
        raise RequestRefused("body_too_large", 413, f"The file is over {MAX_JSON_BYTES} bytes.")
    try:
        menu, notes = Menu.read(parse_json(data))
    except ValueError as error:
        raise RequestRefused("malformed_body", 400, f"The file is {error}.") from None
    await run_in_threadpool(publish, box, menu)
    return _published(request, menu, f"/menu/{menu.id}/versions", notes)


def _published(request: Request, menu: Menu, where: str, notes: tuple[Note, ...]) -> Response:
    """Redirect to `where`, or show a page with the import's notes first, if it has any."""
    if not notes:
        return redirect(request, where)
    swap = {"HX-Retarget": "#main", "HX-Reselect": "#main", "HX-Reswap": "outerHTML"}
    headers = swap if is_fragment(request) else None
    return page(request, "menu/tidied.html", headers=headers, menu=menu, where=where, notes=notes)


def _item(menu: Menu, sku: str) -> Item:
    item = menu.item(sku)
    if item is None:
        raise NotFound(f"The menu {menu.id} has no item {sku}")
    return item


def _option(menu: Menu, group_id: str, option_id: str) -> tuple[OptionGroup, Option]:
    group = menu.group(group_id)
    option = next((one for one in group.options if one.id == option_id), None) if group else None
    if group is None or option is None:
        raise NotFound(f"The menu {menu.id} has no option {option_id} in {group_id}")
    return group, option


def _marked(parts: tuple[Part, ...], marked: Part, is_available: bool) -> tuple[Part, ...]:
    """Return items or options, one of them marked."""
    changed = marked.model_copy(update={"available": is_available, "sold_out_until": None})
    return tuple(changed if one is marked else one for one in parts)


def _edited(item: Item, form: Form, currency: str) -> Item:
    """Return the item with the form's values, unchecked."""
    problems: list[tuple[str, str]] = []

    def price(field: str) -> int:
        try:
            return minor_units(form.get(field), currency)
        except ValueError as error:
            problems.append((f"/{field}", str(error)))
            return 0

    update: dict[str, Any] = {
        "name": form.get("name"),
        "aliases": tuple(alias for line in form.get("aliases").splitlines() if (alias := line.strip())),
        "available": "available" in form,
    }
    if item.prices is None:
        update["price"] = price("price")
    else:
        update["prices"] = {size: price(f"price/{size}") for size in item.prices}
    if problems:
        raise InvalidMenu(problems)
    return item.model_copy(update=update)


def _whole(menu: Menu, **update: Any) -> tuple[Menu, tuple[Note, ...]]:
    """Return the menu with parts replaced, checked and normalized like an import."""
    return Menu.read(menu.model_copy(update=update).model_dump(mode="json", exclude_none=True))


def version_of(form: Form) -> int:
    if not form.get("version").isdecimal():
        raise invalid([("/version", "is missing; reload the page")])
    return int(form.get("version"))
