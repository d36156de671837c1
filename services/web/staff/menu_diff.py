"""The differences between two versions of a menu, field by field, for staff."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from schemas.menu import Menu
from schemas.shops.menu_diff import Step, steps
from schemas.wording import money

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
    return [_change(step, after.currency) for step in steps(before, after)]


def _change(step: Step, currency: str) -> MenuChange:
    where, field = " › ".join(step.names), step.field.replace("_", " ")
    if step.kind == "came":
        return MenuChange(where, field.removesuffix("s"), "", "added")
    if step.kind == "went":
        return MenuChange(where, field.removesuffix("s"), "removed", "")
    if step.kind == "moved":
        return MenuChange(where, f"order of {field}", "", "changed")
    name = step.field if step.size is None else "price"
    before, after = (_shown(name, value, currency) for value in (step.before, step.after))
    return MenuChange(where, field if step.size is None else f"price {step.size}", before, after)


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
