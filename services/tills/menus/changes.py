"""Differences between two versions of a menu, in words: parts added and removed, fields changed."""

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
    """A changed field of a part; without a `field`, a whole part with its prices."""

    kind: Literal["Added", "Removed", "New prices", "Other changes"]
    part: str
    field: str = ""
    before: str = ""
    after: str = ""


def changes(old: Menu | None, new: Menu) -> Iterator[Change]:
    """List the changes. Parts are matched by name, so a renamed one is removed and added."""
    removed = _parts(old) if old else {}
    for key, (part, fields) in _parts(new).items():
        if key not in removed:
            yield Change("Added", part, after=_prices(fields))
            continue
        _, old_fields = removed.pop(key)
        for field in {**old_fields, **fields}:
            before, after = old_fields.get(field, ""), fields.get(field, "")
            if before != after:
                is_price = field.startswith("price")
                yield Change("New prices" if is_price else "Other changes", part, field, before, after)
    for part, fields in removed.values():
        yield Change("Removed", part, before=_prices(fields))


def _prices(fields: Fields) -> str:
    prices = [f"{name} {text}" for name, text in fields.items() if name.startswith("price") and text]
    return ", ".join(price.removeprefix("price").lstrip(", ") for price in prices)


def _parts(menu: Menu) -> dict[str, tuple[str, Fields]]:
    """Return label and fields of the menu and of each of its parts, by casefolded label."""
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
    """Return the fields of a part as text, one for each price. `names` maps a field's ids to names."""
    fields: Fields = {}
    for field, value in part:
        named = names.get(field, {})
        if field == "price" and value is not None:
            fields[field] = money(value, currency)
        elif field in ("prices", "amount_prices"):
            prices = {f"price, {named.get(key, key)}": price for key, price in (value or {}).items()}
            fields |= {name: money(price, currency) for name, price in prices.items()}
        elif field not in _PARTS.get(type(part).__name__, ()):
            fields[field.replace("_", " ")] = _text(value, named)
    return fields


def _text(value: object, names: Mapping[str, str]) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, Mapping):
        return ", ".join(f"{names.get(key, key)} {one}" for key, one in value.items())
    if isinstance(value, tuple):
        return ", ".join(_text(one, names) for one in value)
    return "" if value is None else names.get(str(value), str(value))
