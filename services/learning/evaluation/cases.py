"""Carts as people read them, gold next to predicted, with what differs marked."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, NamedTuple

from schemas.compare import Chosen, canonical
from schemas.menu import Menu
from services.learning.evaluation.score import Line, paired

_AMOUNTS = {"none": "no ", "normal": ""}


class Part(NamedTuple):
    """A piece of a line; `joint` stands before it; `differs` when the other cart does not have it."""

    joint: str
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
        group, option, amount, count, portion = chosen
        name = self.options.get((group, option), _spaced(option))
        half = f"{portion} half: " if portion != "whole" else ""
        return f"{half}{_AMOUNTS.get(amount, f'{amount} ')}{f'{count} × ' if count > 1 else ''}{name}"


def side_by_side(gold: list[dict[str, Any]], predicted: list[dict[str, Any]], names: Names) -> list[Row]:
    """The lines of two carts, paired as the score pairs them.

    To be read more easily, lines of different items that the score leaves alone then face each other, so
    that what they share is not marked.
    """
    pairs = paired(canonical(gold), canonical(predicted))
    missing = [want for want, got in pairs if got is None]
    added = [got for want, got in pairs if want is None]
    rows = [pair for pair in pairs if None not in pair] + list(zip_longest(missing, added))
    return [(_parts(want, got, names), _parts(got, want, names)) for want, got in rows]


def _parts(line: Line | None, other: Line | None, names: Names) -> list[Part]:
    if line is None:
        return []
    its = {*names.line(other), *_options(other, names)} if other else set()
    head = [Part(" " if index else "", text, text not in its) for index, text in enumerate(names.line(line))]
    return head + [Part(" · ", text, text not in its) for text in _options(line, names)]


def _options(line: Line, names: Names) -> list[str]:
    return [names.option(option) for option in sorted(line[0][3])]


def _spaced(identifier: str) -> str:
    return re.sub(r"[_-]+", " ", identifier)
