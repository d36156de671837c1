"""Edits of a menu by a manager: its items, prices of options, what is sold out.

Menus are immutable: each edit is a new version, checked like an import.
"""

from __future__ import annotations

import re
from datetime import datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

from fastapi import APIRouter, Request
from starlette.responses import Response

from schemas.errors import InputError, InvalidMenu, NotFound
from schemas.menu import Item, Menu, Option
from schemas.menus.hours import DAYS
from schemas.wording import minor_units
from services.api.problems import RequestRefused
from services.api.routes.menus import publish
from services.shop_scope import ShopScope
from services.tills.menus.draft import slug
from services.web.pages import Fields, Form, PageRoute, is_fragment, page, redirect
from services.web.staff.menus import browsed
from services.web.staff.staff import MenuScope, PublishScope

router = APIRouter(prefix="/menu", include_in_schema=False, route_class=PageRoute)

MORNING = time(4)
"""When items that are sold out until tomorrow come back, in the menu's time zone."""
_USED = re.compile(r"item name or alias '(.*)' is already used at (/items/.*)")
_PART = re.compile(r"^(/items/\d+|/option_groups/\d+/options/\d+)")
_PRICED = "must be given once, or for each size"
_LABELS = {"name": "Name", "aliases": "Also called", "category": "Category", "description": "Description"}
_LABELS |= {"allergens": "Allergens", "hours": "Hours", "time_zone": "Time zone of the menu"}
_LABELS |= dict.fromkeys(("price", "prices", "amount_prices"), "Price")
_HOURS = re.compile(r"(?:([a-z, ]+) )?(\d\d:\d\d) ?[-–] ?(\d\d:\d\d)")


@router.get("/{menu_id}/edit")
def edit(
    menu_id: str, request: Request, box: MenuScope, sku: str = "", group: str = "", option: str = ""
) -> Response:
    """Show the form for an item, for an option of a group, or without either for a new item."""
    stored = box.menus.get(menu_id)
    part = _part(stored.menu, sku, group, option) if sku or group else None
    template = "menu/option.html" if isinstance(part, Option) else "menu/item.html"
    return page(request, template, stored=stored, menu=stored.menu, part=part, group=group)


@router.post("/{menu_id}/edit")
def save(menu_id: str, request: Request, box: PublishScope, form: Fields) -> Response:
    """Save that form. Aliases that repeat a name are dropped."""
    menu, sku, group = box.menus.get(menu_id).menu, form.get("sku"), form.get("group")
    part = _part(menu, sku, group, form.get("option")) if sku or group else None
    zone = menu.time_zone or form.get("time_zone") or None
    try:
        edited = _with(menu, part, _filled(part, menu, form))
        _publish(box, edited.model_copy(update={"time_zone": zone}), form.version)
    except InvalidMenu as error:
        raise _refused(error, menu, part) from None
    return redirect(request, f"/menu/{menu_id}")


@router.post("/{menu_id}/mark")
def mark(menu_id: str, request: Request, box: PublishScope, form: Fields) -> Response:
    """Mark an item (`SKU///no`) or an option (`/GROUP/OPTION/no`) of the newest version, whichever the page
    shows, as available: yes, no or tomorrow."""
    stored = box.menus.get(menu_id)
    sku, group, option, available = [*form.get("mark").split("/"), "", "", ""][:4]
    part = _part(stored.menu, sku, group, option)
    _publish(box, _with(stored.menu, part, _marked(part, stored.menu, available)), stored.version)
    if is_fragment(request):
        return browsed(request, box, menu_id, form.get("q"))
    return redirect(request, f"/menu/{menu_id}")


def _publish(box: ShopScope, edited: Menu, after: int) -> None:
    """Check and publish an edited menu."""
    document = edited.model_dump(mode="json", exclude_none=True, warnings=False)
    publish(box, Menu.parse(document), after=after, edited=True)


def _refused(error: InvalidMenu, menu: Menu, part: Item | Option | None) -> RequestRefused:
    """Return the problems of an edited menu by the labels of the form's fields."""
    at = next((i for i, item in enumerate(menu.items) if item is part), len(menu.items))
    wrong = dict.fromkeys(_on_form(*problem, menu, at) for problem in error.problems[:3])
    hint = "Nothing was stored. Change it and save again."
    return RequestRefused(error.code, 422, " ".join(wrong), title="Not saved", hint=hint)


def _on_form(pointer: str, text: str, menu: Menu, at: int) -> str:
    """Return a problem as a sentence that begins with the field's label; `at` is the edited item's index."""
    if used := _USED.fullmatch(text):
        # The checks name whichever comes later in the menu.
        here = pointer.startswith(f"/items/{at}/")
        pointer, other = (pointer, used[2]) if here else (used[2], pointer)
        item = menu.items[int(other.split("/")[2])]
        text = f"“{used[1]}” is already used by “{item.name}”"
    field, _, rest = _PART.sub("", pointer).removeprefix("/").partition("/")
    if not field:
        field, text = "price", _PRICED
    label = _LABELS.get(field, pointer)
    if label == "Price" and rest:
        size = menu.size(rest)
        label += f", {size.name if size else rest}"
    return f"{label}{':' if text.startswith('“') else ''} {text}."


def _part(menu: Menu, sku: str, group_id: str, option_id: str) -> Item | Option:
    """Return the item or option with these ids; raises NotFound."""
    for group in menu.option_groups:
        for option in group.options:
            if (group.id, option.id) == (group_id, option_id):
                return option
    if (item := menu.item(sku)) is None:
        raise NotFound(f"The menu {menu.id} has no {sku or option_id or 'such item'}")
    return item


def _with(menu: Menu, part: Item | Option | None, changed: Item | Option) -> Menu:
    """Return the menu with one part changed, or with a new item."""
    items = tuple(changed if item is part else item for item in menu.items)
    groups = tuple(
        group.model_copy(update={"options": tuple(changed if o is part else o for o in group.options)})
        for group in menu.option_groups
    )
    return menu.model_copy(update={"items": items if part else (*items, changed), "option_groups": groups})


def _marked(part: Item | Option, menu: Menu, available: str) -> Item | Option:
    """Return an item or option that is available, or sold out for good or until the next morning."""
    until = None
    if available == "tomorrow":
        if menu.time_zone is None:
            what = "This menu has no time zone"
            raise InputError(what, title=what, hint="Set it in the form of any item.")
        now = datetime.now(ZoneInfo(menu.time_zone))
        day = now.date() + timedelta(days=now.time() >= MORNING)
        until = datetime.combine(day, MORNING, now.tzinfo)
    return part.model_copy(update={"available": available != "no", "sold_out_until": until})


def _filled(part: Item | Option | None, menu: Menu, form: Form) -> Item | Option:
    """Return an item or option with the values of its form, of which only amounts and hours are checked."""
    prices = _prices(form, menu.currency)
    if isinstance(part, Option):
        return part.model_copy(update=prices)
    fields: dict[str, Any] = {
        "name": form.get("name"),
        "aliases": _lines(form.get("aliases")),
        "description": form.get("description") or None,
        "allergens": _lines(form.get("allergens").replace(",", "\n")),
        "hours": tuple(map(_hours, _lines(form.get("hours")))),
        "price": prices.get("price"),
        "prices": prices.get("prices"),
    }
    if part is not None:
        return part.model_copy(update=fields)
    return Item.model_construct(
        **fields,
        sku=slug(form.get("name"), [item.sku for item in menu.items]),
        category=form.get("category") or "other",
        option_groups=tuple(form.all("option_groups")),
        tax=form.get("tax") or None,
    )


def _lines(text: str) -> tuple[str, ...]:
    return tuple(line.strip() for line in text.splitlines() if line.strip())


def _prices(form: Form, currency: str) -> dict[str, Any]:
    """Return the amounts of `price`, `prices/SIZE` and `amount_prices/AMOUNT`, where they are filled."""
    found: dict[str, Any] = {}
    for field in form.fields:
        what, _, key = field.partition("/")
        if what in ("price", "prices", "amount_prices") and form.get(field):
            try:
                amount = minor_units(form.get(field), currency)
            except ValueError:
                raise InvalidMenu([(f"/{field}", f"“{form.get(field)[:20]}” isn't an amount")]) from None
            if bool(key) == (what == "price"):
                raise InvalidMenu([(f"/{field}", _PRICED)])
            found[what] = found.get(what, {}) | {key: amount} if key else amount
    return found


def _hours(line: str) -> dict[str, object]:
    """Return a line such as `mon, tue 07:00-11:00`, or without days, as the menu document has it."""
    match = _HOURS.fullmatch(line.casefold())
    if match is None:
        raise InvalidMenu([("/hours", f"“{line[:40]}” isn't like “mon, tue 07:00-11:00”")])
    days = tuple(day.strip()[:3] for day in match[1].split(",")) if match[1] else DAYS
    return {"days": days, "start": match[2], "end": match[3]}
