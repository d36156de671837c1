"""A first guess at an order's cart, from the names that retrieval finds in the words.

A server that can check an answer in one batch writes only what differs from the guess, so a wrong guess costs
time and never changes a cart. On the tuned menus half of an answer's tokens are guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import partial

from schemas.cart import Line, OptionLine
from schemas.menu import Item, Menu
from services.retrieval.retrieval import Match, Mention, Retrieval


@dataclass(slots=True)
class _Guessed:
    """A line of the guess, and the words [`start`, `end`) that named its item."""

    item: Item
    quantity: int
    start: int
    end: int
    size: str | None = None
    options: list[OptionLine] = field(default_factory=list)

    def line(self) -> Line:
        return {
            "kind": "item",
            "sku": self.item.sku,
            "quantity": self.quantity,
            "size": self.size,
            "options": self.options,
        }


def guess(retrieval: Retrieval, menu: Menu) -> list[Line]:
    """Return a line for each item that was named, with the number before it, and the sizes and options that
    were said nearest to it."""
    lines, others = _items(retrieval, menu)
    for mention in others:
        _give(mention, sorted(lines, key=partial(_distance, mention)))
    return [line.line() for line in lines]


def _items(retrieval: Retrieval, menu: Menu) -> tuple[list[_Guessed], list[Mention]]:
    """The lines, and the mentions that name no item."""
    lines: list[_Guessed] = []
    others: list[Mention] = []
    behind = 0
    for mention in retrieval.mentions:
        names = mention.names if mention.match is Match.WHOLE else mention.names[:1]
        item = next((menu.item(name.id) for name in names if name.kind == "item"), None)
        if item is None:
            others.append(mention)
        elif mention.start >= behind:
            if lines and lines[-1].item == item and mention.start <= behind + 1:  # one more word of its name
                lines[-1].end = mention.end
            else:
                quantity = _number(retrieval, behind, mention.start)
                lines.append(_Guessed(item, quantity, mention.start, mention.end))
            behind = mention.end
    return lines, others


def _number(retrieval: Retrieval, start: int, end: int) -> int:
    """The last number between two places that is not a part of a name; else 1."""
    named = [(m.start, m.end) for m in retrieval.mentions if m.match is Match.WHOLE]
    between = [n for n in retrieval.numbers if start <= n.start and n.end <= end]
    free = [n.value for n in between if not any(a <= n.start and n.end <= b for a, b in named)]
    return free[-1] if free else 1


def _distance(mention: Mention, line: _Guessed) -> int:
    return max(line.start - mention.end, mention.start - line.end)


def _give(mention: Mention, nearest: Sequence[_Guessed]) -> None:
    """Add a size or an option to the first of the lines that comes with it."""
    for line in nearest:
        for name in mention.names:
            if name.kind == "size" and name.id in line.item.size_ids:
                line.size = name.id
                return
            if name.kind == "option" and name.group in line.item.option_groups:
                option: OptionLine = {"group": name.group, "id": name.id, "amount": "normal", "count": 1}
                line.options += [option] if option not in line.options else []
                return
