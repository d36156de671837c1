"""Carts as people read them: a line of text for each line, marked where the other cart lacks it."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.compare import Chosen, canonical
from schemas.menu import Menu
from services.learning.evaluation.score import Line

_AMOUNTS = {"none": "no ", "normal": ""}


class CartLineText(NamedTuple):
    """A line as text; `differs` if the other cart doesn't have it."""

    text: str
    differs: bool


@dataclass(frozen=True, slots=True)
class Names:
    """Names of ids. Unknown ids are shown with spaces for separators."""

    items: dict[str, str] = field(default_factory=dict)
    sizes: dict[str, str] = field(default_factory=dict)
    options: dict[tuple[str, str], str] = field(default_factory=dict)

    @classmethod
    def of(cls, menu: Menu) -> Names:
        return cls(
            {item.sku: item.name for item in menu.items},
            {size.id: size.name for size in menu.sizes},
            {(group.id, option.id): option.name for group in menu.option_groups for option in group.options},
        )

    def line(self, line: Line) -> str:
        """Quantity, size, item and options."""
        (kind, sku, size, options), quantity = line
        name = "not on the menu" if kind == "not_on_menu" else self.items.get(sku or "", _spaced(sku or "?"))
        sized = f"{self.sizes.get(size, _spaced(size))} {name}" if size else name
        return " · ".join([f"{quantity} × {sized}", *map(self._option, sorted(options))])

    def _option(self, chosen: Chosen) -> str:
        group, option, amount, count, portion = chosen
        name = self.options.get((group, option), _spaced(option))
        half = f"{portion} half: " if portion != "whole" else ""
        return f"{half}{_AMOUNTS.get(amount, f'{amount} ')}{f'{count} × ' if count > 1 else ''}{name}"


def shown(cart: list[dict[str, Any]], other: list[dict[str, Any]], names: Names) -> list[CartLineText]:
    """Return the lines of a cart, equal ones merged."""
    there = canonical(other)
    return [CartLineText(names.line(line), there.get(line[0]) != line[1]) for line in canonical(cart).items()]


def _spaced(identifier: str) -> str:
    return re.sub(r"[_-]+", " ", identifier)
