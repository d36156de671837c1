"""A first guess at an order's cart, from the names that retrieval finds in the words.

A server that can check an answer in one batch writes only what differs from the guess, so a wrong guess costs
time and never changes a cart. On the tuned menus half of an answer's tokens are guessed.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from schemas.cart import Line, OptionLine
from schemas.menu import Item, Menu
from services.retrieval.retrieval import Match, Mention, Retrieval


@dataclass(slots=True)
class _Guessed:
    """A line of the guess, its item, and the words [`start`, `end`) that named that."""

    line: Line
    item: Item
    start: int
    end: int


def guess(retrieval: Retrieval, menu: Menu) -> list[Line]:
    """Return a line for each item that was named, with the number before it, and the sizes and options that
    were said nearest to it."""
    lines, others = _items(retrieval, menu)
    for mention in others:
        _give(mention, lines)
    return [one.line for one in lines]


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
                line: Line = {"kind": "item", "sku": item.sku, "size": None, "options": []}
                line["quantity"] = _number(retrieval, behind, mention.start)
                lines.append(_Guessed(line, item, mention.start, mention.end))
            behind = mention.end
    return lines, others


def _number(retrieval: Retrieval, start: int, end: int) -> int:
    """The last number between two places that is not a part of a name; else 1."""
    named = [(m.start, m.end) for m in retrieval.mentions if m.match is Match.WHOLE]
    between = [n for n in retrieval.numbers if start <= n.start and n.end <= end]
    free = [n.value for n in between if not any(a <= n.start and n.end <= b for a, b in named)]
    return free[-1] if free else 1


def _give(mention: Mention, lines: Sequence[_Guessed]) -> None:
    """Add a size or an option to the nearest of the lines that comes with it."""
    for one in sorted(lines, key=lambda one: max(one.start - mention.end, mention.start - one.end)):
        for name in mention.names:
            if name.kind == "size" and name.id in one.item.size_ids:
                one.line["size"] = name.id
                return
            if name.kind == "option" and name.group in one.item.option_groups:
                option: OptionLine = {"group": name.group, "id": name.id, "amount": "normal", "count": 1}
                one.line["options"] += [option] if option not in one.line["options"] else []
                return
