"""The changes that clauses come to, as an explanation has them: in the menu's names, with the lines as they
stood before each change."""

from __future__ import annotations

from collections.abc import Iterable
from typing import cast

from schemas import wording
from schemas.explanation import ChangeKind, ExplainedChange
from schemas.menu import Menu
from schemas.sentences.sentences import ENGLISH, sentences
from services.reading.clauses.changes import (
    Add,
    Ask,
    Change,
    Drop,
    Expect,
    Focus,
    Recount,
    Repeat,
    Resize,
    Share,
    Split,
    Swap,
    Turn,
)
from services.reading.clauses.content import Choices, as_choices
from services.reading.clauses.tally import Wish


class Changed:
    """Words changes over one menu."""

    def __init__(self, menu: Menu) -> None:
        self._menu = menu

    def explained(self, change: Change) -> ExplainedChange | None:
        """A change that is about to be applied; None for what is only expected of later clauses."""
        if isinstance(change, Expect):
            return None
        kind = cast(ChangeKind, type(change).__name__.lower())
        lines = tuple(map(self._line, _lines(change)))
        return ExplainedChange(kind=kind, lines=lines, what=tuple(self._what(change)))

    def _what(self, change: Change) -> list[str]:
        """What is added, given or taken."""
        match change:
            case Add(line) | Repeat(more=line) | Swap(by=line):
                return [self._line(line)]
            case Split(quantity=number) | Recount(quantity=number):
                return [str(number)]
            case Turn(items=items):
                return self._items(items)
            case Resize(size=str(size)):
                known = self._menu.size(size)
                return [known.name if known is not None else size]
            case Share(choices=choices):
                return self._options(choices[:1])
            case Drop(line, gone):
                had = {choice: how for choice, how in line.options.items() if choice in gone}
                return [name for choices in as_choices(had) for name in self._options(choices)]
            case Ask(asked, offered):
                things = [] if asked is None else self._items(asked.items) or [sentences(ENGLISH)("off_menu")]
                return [*things, *(name for choices in offered for name in self._options(choices[:1]))]
        return []

    def _line(self, line: Wish) -> str:
        return wording.open_line(line.quantity, line.items, line.size, line.options, self._menu)

    def _items(self, items: Iterable[str]) -> list[str]:
        return [item.name for item in map(self._menu.item, items) if item is not None]

    def _options(self, choices: Choices) -> list[str]:
        return [wording.open_option(o.group, o.id, o.amounts[-1], o.counts[-1], self._menu) for o in choices]


def _lines(change: Change) -> tuple[Wish, ...]:
    """The lines that stand, and that a change is about."""
    match change:
        case Share(lines) | Focus(lines):
            return lines
        case Add() | Ask() | Expect():
            return ()
        case _:
            return (change.line,)
