"""What a new version of a menu changes, as people read it: parts added and removed, fields that differ."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Literal

from pydantic import BaseModel

from schemas.menu import Menu
from schemas.wording import money

# Lists of parts, which are compared part by part.
_PARTS = {"Menu": {"sizes", "option_groups", "items", "taxes"}, "OptionGroup": {"options"}}
Fields = dict[str, str]


@dataclass(frozen=True, slots=True)
class Change:
    """A field of a part that differs; without a `field` a whole part, with its prices."""

    kind: Literal["Added", "Removed", "New prices", "Other changes"]
    part: str
    field: str = ""
    before: str = ""
    after: str = ""


def changes(old: Menu | None, new: Menu) -> Iterator[Change]:
    """What differs. Parts are the same by their names, so one with a new name is removed and added."""
    left = _parts(old) if old else {}
    for key, (part, fields) in _parts(new).items():
        if key not in left:
            yield Change("Added", part, after=_prices(fields))
            continue
        _, was = left.pop(key)
        for field in {**was, **fields}:
            before, after = was.get(field, ""), fields.get(field, "")
            if before != after:
                priced = field.startswith("price")
                yield Change("New prices" if priced else "Other changes", part, field, before, after)
    for part, fields in left.values():
        yield Change("Removed", part, before=_prices(fields))


def _prices(fields: Fields) -> str:
    prices = [f"{name} {text}" for name, text in fields.items() if name.startswith("price") and text]
    return ", ".join(price.removeprefix("price").lstrip(", ") for price in prices)


def _parts(menu: Menu) -> dict[str, tuple[str, Fields]]:
    """The menu and each of its parts: how it is called, and its fields."""
    parts: list[tuple[str, BaseModel]] = [("the menu", menu)]
    parts += [(f"item {item.name}", item) for item in menu.items]
    for group in menu.option_groups:
        parts += [(f"option {group.name}: {option.name}", option) for option in group.options]
    parts += [(f"group {group.name}", group) for group in menu.option_groups]
    parts += [(f"size {size.name}", size) for size in menu.sizes]
    parts += [(f"tax {tax.id}", tax) for tax in menu.taxes]
    sizes = {size.id: size.name for size in menu.sizes}
    groups = {group.id: group.name for group in menu.option_groups}
    names = {"prices": sizes, "default_size": sizes, "size_refs": sizes, "option_groups": groups}
    return {label.casefold(): (label, _fields(part, menu.currency, names)) for label, part in parts}


def _fields(part: BaseModel, currency: str, names: Mapping[str, Mapping[str, str]]) -> Fields:
    """The fields of a part, its prices one by one; `names` of the ids that a field has."""
    found: Fields = {}
    for field, value in part:
        known = names.get(field, {})
        if field == "price" and value is not None:
            found[field] = money(value, currency)
        elif field in ("prices", "amount_prices"):
            priced = {f"price, {known.get(key, key)}": price for key, price in (value or {}).items()}
            found |= {name: money(price, currency) for name, price in priced.items()}
        elif field not in _PARTS.get(type(part).__name__, ()):
            found[field.replace("_", " ")] = _text(value, known)
    return found


def _text(value: object, names: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{names.get(key, key)} {one}" for key, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(_text(one, names) for one in value)
    return "" if value is None else names.get(str(value), str(value))
