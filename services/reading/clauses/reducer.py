"""Applies changes to a tally. Nothing else in the reading does (`tests/architecture/test_changes.py`)."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from services.reading.clauses.changes import (
    Add,
    Ask,
    Change,
    Drop,
    Expect,
    Focus,
    Recount,
    Remove,
    Repeat,
    Resize,
    Restore,
    Share,
    Split,
    Swap,
    Topic,
    Turn,
)
from services.reading.clauses.content import Choices
from services.reading.clauses.tally import Tally, Wish


def apply(tally: Tally, change: Change) -> None:
    """Bring `tally` up to date with one change. Whoever makes a change makes one that fits: a line that
    stands, and an option that it comes with."""
    match change:
        case Add():
            _add(tally, change)
        case Repeat(line, more):
            _beside(tally, more, line)
            tally.copy, tally.rest = more, None  # what follows is said of this one
        case Remove(line):
            _remove(tally, line)
        case Restore(line):
            tally.gone = _without(tally.gone, line)
            _append(tally, line)
        case Swap(line, by):
            _remove(tally, line)
            _append(tally, by)
        case Split(line, quantity):
            _split(tally, line, quantity)
        case Turn(line, items, at):
            line.items, line.at = items, at or line.at
        case Resize(line, size):
            line.size = size
        case Recount(line, quantity):
            line.quantity = quantity
        case Share(lines, choices):
            for line in lines:
                _choose(tally, line, choices)
        case Drop(line, gone):
            line.options = {choice: how for choice, how in line.options.items() if choice not in gone}
        case Focus(lines):
            tally.focus = lines
        case Topic(line):
            _speak_of(tally, line)
        case Ask(asked, offered):
            tally.expected = replace(tally.expected, asked=asked or tally.expected.asked, offered=offered)
        case Expect(expected):
            tally.expected = expected


def _add(tally: Tally, change: Add) -> None:
    if change.aside:
        tally.wishes = (*tally.wishes, change.line)
    elif change.before is not None:
        tally.wishes = _inserted(tally.wishes, change.line, tally.wishes.index(change.before))
        tally.group = (change.line, *tally.group)
    elif change.after is not None:
        _beside(tally, change.line, change.after)
    else:
        _append(tally, change.line)


def _append(tally: Tally, line: Wish) -> None:
    tally.wishes = (*tally.wishes, line)
    _speak_of(tally, line)


def _beside(tally: Tally, line: Wish, after: Wish) -> None:
    """Another line of the same item, in the same group."""
    tally.wishes = _inserted(tally.wishes, line, tally.wishes.index(after) + 1)
    tally.group = (*tally.group, line) if after in tally.group else (after, line)
    tally.focus = (line,)


def _speak_of(tally: Tally, line: Wish) -> None:
    tally.group = tally.focus = (line,)
    tally.rest, tally.parted = line, False


def _remove(tally: Tally, line: Wish) -> None:
    tally.wishes = _without(tally.wishes, line)
    tally.gone = (*tally.gone, line)
    tally.group = _without(tally.group, line)
    tally.focus = _without(tally.focus, line) or tally.group or tally.wishes[-1:]
    tally.group = tally.group or tally.wishes[-1:]
    tally.rest = tally.rest if tally.rest in tally.wishes else None


def _split(tally: Tally, whole: Wish, quantity: int) -> None:
    """Tell some of a line apart; what is left of it stays where it is."""
    if whole not in tally.group:
        tally.group, tally.rest = (whole,), whole
    tally.parted = True
    if whole.quantity <= quantity:
        tally.focus = (whole,)
        tally.rest = None if whole is tally.rest else tally.rest
        return
    some = Wish(whole.items, whole.at, quantity, whole.size, whole.options)
    whole.quantity -= quantity
    tally.wishes = _inserted(tally.wishes, some, tally.wishes.index(whole))
    tally.group, tally.focus = (*tally.group, some), (some,)


def _choose(tally: Tally, line: Wish, choices: Choices) -> None:
    """Give a line an option; of a group that is chosen from once the last word counts."""
    option = tally.choice(line, choices)
    if option is None:
        return
    one = tally.single(option.group)
    kept = {c: how for c, how in line.options.items() if not (one and c[0] == option.group)}
    line.options = kept | {(option.group, option.id): (option.amounts[-1], option.counts[-1])}
    tally.ever |= {(option.group, option.id)}


def _inserted(lines: Sequence[Wish], line: Wish, at: int) -> tuple[Wish, ...]:
    return (*lines[:at], line, *lines[at:])


def _without(lines: Sequence[Wish], line: Wish) -> tuple[Wish, ...]:
    return tuple(other for other in lines if other is not line)
