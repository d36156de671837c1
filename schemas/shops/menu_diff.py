"""What differs between two menus, part by part: parts are the same where their ids are."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import BaseModel

from schemas.menu import Menu

# Lists that are compared entry by entry, each with the field that names an entry.
_KEYS = {"sizes": "id", "option_groups": "id", "options": "id", "items": "sku", "taxes": "id"}


@dataclass(frozen=True, slots=True)
class Step:
    """One difference. `pointer` leads there by field names and ids (`/items/latte/prices/L`), `names` by what
    the parts are called. `before` and `after` are as the models hold them; None for a part that came or went.

    `came`, `went`: a whole part of the list `field`. `moved`: the list has the same parts in another order,
    of which the ids are given. `size` is set where one price of several differs.
    """

    kind: Literal["changed", "came", "went", "moved"]
    pointer: str
    names: tuple[str, ...]
    field: str
    before: Any
    after: Any
    size: str | None = None


def steps(before: Menu, after: Menu) -> Iterator[Step]:
    """Every difference, in the order of the menu."""
    return _of_model("", (), before, after)


def _of_model(pointer: str, names: tuple[str, ...], before: BaseModel, after: BaseModel) -> Iterator[Step]:
    for name in type(after).model_fields:
        old, new = getattr(before, name), getattr(after, name)
        if old == new:
            continue
        here = f"{pointer}/{name}"
        if name in _KEYS:
            yield from _of_list(here, names, name, old, new)
        elif name == "prices" and old and new:
            for size in dict.fromkeys((*new, *old)):
                if old.get(size) != new.get(size):
                    yield Step(
                        "changed", f"{here}/{size}", names, name, old.get(size), new.get(size), size=size
                    )
        else:
            yield Step("changed", here, names, name, old, new)


def _of_list(
    pointer: str, names: tuple[str, ...], field: str, old: Iterable[Any], new: Iterable[Any]
) -> Iterator[Step]:
    was, now = ({getattr(part, _KEYS[field]): part for part in parts} for parts in (old, new))
    for key in dict.fromkeys((*now, *was)):
        part = now.get(key) or was[key]
        here, called = f"{pointer}/{key}", (*names, part.name)
        if key not in was:
            yield Step("came", here, called, field, None, part)
        elif key not in now:
            yield Step("went", here, called, field, part, None)
        else:
            yield from _of_model(here, called, was[key], now[key])
    if list(was) != list(now) and set(was) == set(now):
        yield Step("moved", pointer, names, field, list(was), list(now))
