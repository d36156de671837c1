"""What changed between two versions of a menu, field by field, as the schema names the fields."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from pydantic import BaseModel

from schemas.menu import Menu
from schemas.wording import money

# Lists that are compared entry by entry, each with the field that names an entry.
_KEYS = {"sizes": "id", "option_groups": "id", "options": "id", "items": "sku"}
_MONEY = {"price", "prices"}


@dataclass(frozen=True, slots=True)
class Change:
    """One difference. `before` is empty for what came, `after` for what went."""

    where: str
    field: str
    before: str
    after: str


def changes(before: Menu, after: Menu) -> list[Change]:
    """Every difference, in the order of the menu."""
    return list(_of_model("", before, after, after.currency))


def _of_model(where: str, before: BaseModel, after: BaseModel, currency: str) -> Iterator[Change]:
    for name in type(after).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        if name in _KEYS:
            yield from _of_list(where, name, old, new, currency)
        elif name == "prices" and old and new:
            for size in dict.fromkeys((*new, *old)):
                if old.get(size) != new.get(size):
                    yield Change(
                        where, f"price {size}", *(_shown("price", p.get(size), currency) for p in (old, new))
                    )
        else:
            yield Change(
                where, name.replace("_", " "), _shown(name, old, currency), _shown(name, new, currency)
            )


def _of_list(
    where: str, name: str, old: Iterable[Any], new: Iterable[Any], currency: str
) -> Iterator[Change]:
    key = _KEYS[name]
    was, now = ({getattr(part, key): part for part in parts} for parts in (old, new))
    kind = name.removesuffix("s").replace("_", " ")
    for part_id in dict.fromkeys((*now, *was)):
        part = now.get(part_id) or was[part_id]
        place = f"{where} › {part.name}" if where else part.name
        if part_id not in was:
            yield Change(place, kind, "", "added")
        elif part_id not in now:
            yield Change(place, kind, "removed", "")
        else:
            yield from _of_model(place, was[part_id], now[part_id], currency)
    if list(was) != list(now) and set(was) == set(now):
        yield Change(where, f"order of {name.replace('_', ' ')}", "", "changed")


def _shown(name: str, value: Any, currency: str) -> str:
    if value is None or value == ():
        return "none"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if name in _MONEY and isinstance(value, dict):
        return ", ".join(f"{size} {money(price, currency)}" for size, price in value.items())
    if name in _MONEY:
        return money(value, currency)
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)
