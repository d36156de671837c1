"""The differences between two versions of a menu, field by field, for staff."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from schemas.menu import Menu
from schemas.wording import money

# Lists that are compared entry by entry, each with the field that names an entry.
_KEYS = {"sizes": "id", "option_groups": "id", "options": "id", "items": "sku", "taxes": "id"}
_MONEY = {"price", "prices", "amount_prices"}


@dataclass(frozen=True, slots=True)
class MenuChange:
    """One difference. `before` is empty for an addition, `after` for a removal."""

    where: str
    field: str
    before: str
    after: str


def changes(before: Menu, after: Menu) -> list[MenuChange]:
    """Return every difference, in the menu's order."""
    return list(_of_model("", before, after, after.currency))


def _of_model(where: str, before: BaseModel, after: BaseModel, currency: str) -> Iterator[MenuChange]:
    for name in type(after).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        label = name.replace("_", " ")
        if old == new:
            continue
        if name in _KEYS and isinstance((*new, *old)[0], BaseModel):  # not the groups that an item names
            yield from _of_list(where, name, old, new, currency)
        elif name == "prices" and old and new:
            for size in dict.fromkeys((*new, *old)):
                if old.get(size) != new.get(size):
                    shown = (_shown("price", prices.get(size), currency) for prices in (old, new))
                    yield MenuChange(where, f"price {size}", *shown)
        else:
            yield MenuChange(where, label, _shown(name, old, currency), _shown(name, new, currency))


def _of_list(
    where: str, field: str, old: Iterable[Any], new: Iterable[Any], currency: str
) -> Iterator[MenuChange]:
    was, now = ({getattr(part, _KEYS[field]): part for part in parts} for parts in (old, new))
    label = field.replace("_", " ")
    for key in dict.fromkeys((*now, *was)):
        part = now.get(key) or was[key]
        place = f"{where} › {part.name}" if where else part.name
        if key not in was:
            yield MenuChange(place, label.removesuffix("s"), "", "added")
        elif key not in now:
            yield MenuChange(place, label.removesuffix("s"), "removed", "")
        else:
            yield from _of_model(place, was[key], now[key], currency)
    if list(was) != list(now) and set(was) == set(now):
        yield MenuChange(where, f"order of {label}", "", "changed")


def _shown(name: str, value: Any, currency: str) -> str:
    if value is None or value in ((), {}):
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _MONEY and isinstance(value, dict):
        return ", ".join(f"{size} {money(price, currency)}" for size, price in value.items())
    if name in _MONEY:
        return money(value, currency)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
