"""What a clause does to an order, as values. A clause of a customer comes to a few of these, one after the
other; `reducer.py` applies them to the tally, and nothing else does. A line is named by its `Wish`.

Those of attention (`Focus`, `Topic`, `Ask`, `Expect`) leave the cart as it is: they say what the next words
will be about.
"""

from __future__ import annotations

from collections.abc import Generator
from dataclasses import dataclass
from typing import TypeVar

from services.reading.clauses.content import Choices
from services.reading.clauses.tally import Choice, Expected, Wish


@dataclass(frozen=True, slots=True)
class Add:
    """ "A latte": a new line at the end, which is then what is spoken of. "And two with oat", after two of
    the same: right `after` another line, in its group. "A large and a small margherita": `before` another,
    in its group. What is had with an item ("fries with truffle oil") is not spoken of: `aside`."""

    line: Wish
    after: Wish | None = None
    before: Wish | None = None
    aside: bool = False


@dataclass(frozen=True, slots=True)
class Repeat:
    """ "The same again but with soy": one `more` of a line, right after it; what follows is said of it."""

    line: Wish
    more: Wish


@dataclass(frozen=True, slots=True)
class Remove:
    """ "Scratch the muffin": a line is taken back."""

    line: Wish


@dataclass(frozen=True, slots=True)
class Restore:
    """ "Actually, keep the quiche": a line that was taken back stands again."""

    line: Wish


@dataclass(frozen=True, slots=True)
class Swap:
    """ "Change the mocha to a cold brew": a line is taken back, and another is ordered in its place."""

    line: Wish
    by: Wish


@dataclass(frozen=True, slots=True)
class Split:
    """ "Make one of them a large": so many of a line are told apart, and are then the one line of the focus.
    As many as there are, or more, are the line itself."""

    line: Wish
    quantity: int


@dataclass(frozen=True, slots=True)
class Turn:
    """ "Both iced", "two muffins, blueberry": a line is of another item, or of fewer that it may be. `at` are
    the tokens of the new name, where it has one."""

    line: Wish
    items: tuple[str, ...]
    at: tuple[int, int] | None = None


@dataclass(frozen=True, slots=True)
class Resize:
    """ "Make it a large": a line has another size; none that was said where it is None."""

    line: Wish
    size: str | None


@dataclass(frozen=True, slots=True)
class Recount:
    """ "So that's four burgers": another number of a line."""

    line: Wish
    quantity: int


@dataclass(frozen=True, slots=True)
class Share:
    """ "Both with oat": an option for each of these lines. Of the `choices` that its name may mean each line
    has the one that its item comes with, in the place of another where one can be had. "No onions" is an
    option too, of which none is wanted."""

    lines: tuple[Wish, ...]
    choices: Choices


@dataclass(frozen=True, slots=True)
class Drop:
    """ "Lose the bacon": options of a line go, as if they had not been said."""

    line: Wish
    choices: tuple[Choice, ...]


@dataclass(frozen=True, slots=True)
class Focus:
    """ "On the first, ...": the next words are about these lines, of all that are being told apart."""

    lines: tuple[Wish, ...]


@dataclass(frozen=True, slots=True)
class Topic:
    """ "On the melts, one gets jalapeños": one line, and all of it, is spoken of from now on."""

    line: Wish


@dataclass(frozen=True, slots=True)
class Ask:
    """ "Do you have croissants?": something is asked about, and may be ordered next. `line` is None where no
    thing is asked about but choices: `offered`."""

    line: Wish | None
    offered: tuple[Choices, ...] = ()


@dataclass(frozen=True, slots=True)
class Expect:
    """ "Two large, ...", "no, make that, um, ...": something was said for which the next clauses have the
    place."""

    expected: Expected


Change = (
    Add
    | Repeat
    | Remove
    | Restore
    | Swap
    | Split
    | Turn
    | Resize
    | Recount
    | Share
    | Drop
    | Focus
    | Topic
    | Ask
    | Expect
)

_T = TypeVar("_T")

# A maker reads the tally and yields changes; each is applied before it goes on, so that it may speak of the
# line that its `Split` has made. It may come to an answer, too: whether it had anything to do.
Answer = Generator[Change, None, _T]
Changes = Answer[None]
