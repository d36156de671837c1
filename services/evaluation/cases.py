"""Carts as people read them, gold beside predicted, with what differs marked."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from schemas.menu import Menu
from services.evaluation.score import Chosen, Line, canonical, paired

_AMOUNTS = {"none": "no ", "normal": ""}


class Part(NamedTuple):
    """A piece of a line; `differs` when the other cart does not have it."""

    text: str
    differs: bool


Row = tuple[list[Part], list[Part]]


@dataclass(frozen=True, slots=True)
class Names:
    """What ids are called. Ids that it does not know are shown with their separators as spaces."""

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

    def line(self, line: Line) -> list[str]:
        """Quantity, size and item, one piece each; a size that was not said is no piece."""
        (kind, sku, size, _), quantity = line
        name = "not on the menu" if kind == "not_on_menu" else self.items.get(sku or "", _spaced(sku or "?"))
        return [f"{quantity} ×", *([self.sizes.get(size, _spaced(size))] if size else []), name]

    def option(self, chosen: Chosen) -> str:
        group, option, amount, count = chosen
        name = self.options.get((group, option), _spaced(option))
        return f"{_AMOUNTS.get(amount, f'{amount} ')}{f'{count} × ' if count > 1 else ''}{name}"


def side_by_side(
    gold: list[dict[str, Any]], predicted: list[dict[str, Any]], names: Names
) -> list[Row]:
    """The lines of two carts, paired as the score pairs them; a line without a twin stands against nothing."""
    return [
        (_parts(want, got, names), _parts(got, want, names))
        for want, got in paired(canonical(gold), canonical(predicted))
    ]


def _parts(line: Line | None, other: Line | None, names: Names) -> list[Part]:
    if line is None:
        return []
    mine = [*names.line(line), *_options(line[0][3], names)]
    its = [*names.line(other), *_options(other[0][3], names)] if other else []
    return [Part(text, text not in its) for text in mine]


def _options(chosen: Iterable[Chosen], names: Names) -> list[str]:
    return [names.option(option) for option in sorted(chosen)]


def _spaced(identifier: str) -> str:
    return re.sub(r"[_-]+", " ", identifier)
