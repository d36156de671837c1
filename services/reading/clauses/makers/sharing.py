"""What is said, to the lines that it is said of."""

from __future__ import annotations

from collections.abc import Sequence

from services.reading.clauses.changes import Answer, Changes, Drop, Resize, Share, Split
from services.reading.clauses.clause import Lost
from services.reading.clauses.content import Choices, Said
from services.reading.clauses.pointing import Target
from services.reading.clauses.tally import Tally, Wish


def share(tally: Tally, lines: Sequence[Wish], said: Said, *, undoes: bool = False) -> Changes:
    """Give the sizes and options of a clause to lines; an option that none of them comes with goes to the
    last line that does. Where it `undoes`, a "no" takes an option off that was wished for before.

    Raises:
        Lost: nothing that was ordered comes with it.
    """
    if not lines:
        raise Lost
    for size in said.sizes:
        for line in lines:
            if tally.sized(line, size):
                yield Resize(line, size)
            elif tally.sizes(line):
                raise Lost
    for choices in said.options:
        given = []
        for line in _fit(tally, lines, choices):
            if undoes and (choice := tally.refused(line, choices)) is not None:
                yield Drop(line, (choice,))
            else:
                given.append(line)
        if given:
            yield Share(tuple(given), choices)


def _fit(tally: Tally, lines: Sequence[Wish], choices: Choices) -> list[Wish]:
    """Those of `lines` that come with an option, or else the last line that does."""
    fit = [line for line in lines if tally.choice(line, choices)]
    if not fit:
        fit = [line for line in reversed(tally.wishes) if tally.choice(line, choices)][:1]
    if not fit and not any(tally.plain(option) for option in choices):
        raise Lost
    return fit


def split(tally: Tally, line: Wish, quantity: int) -> Answer[Wish]:
    """So many of a line, told apart."""
    yield Split(line, quantity)
    return tally.focus[-1]


def told_apart(tally: Tally, target: Target) -> Answer[Wish]:
    """The line that is pointed at, or so many of it."""
    if target.quantity is None:
        return target.line
    return (yield from split(tally, target.line, target.quantity))
