"""A span: words of an order that may name something of the menu, with the rule that says so."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Literal, Protocol, cast

from schemas.evidence import Mention
from schemas.explanation import Rule
from services.reading.chart.tokens import Utterance
from services.reading.effort import charge

EXACT, SHORT, GAPPED, PART, GUESS, SHARED_PART = 1.0, 0.98, 0.97, 0.6, 0.45, 0.4
# From here on a name was said: as it is written, in short, or one sound off.
STRONG = 0.8

Kind = Literal["item", "option", "size", "number"]


class Named(Protocol):
    """What a span and a mention, which is a span in evidence, have in common."""

    @property
    def kind(self) -> str: ...
    @property
    def ids(self) -> tuple[str, ...]: ...
    @property
    def groups(self) -> tuple[str, ...]: ...
    @property
    def start(self) -> int: ...
    @property
    def end(self) -> int: ...
    @property
    def text(self) -> str: ...


@dataclass(frozen=True, slots=True)
class Span:
    """Words that may name something, an item, an option or a size, or that count: a number has no ids.

    `core` are the positions of its own words among all that were said. `start` and `end` are characters,
    where it stands: elsewhere only where it was put in the place of what it corrects. Several `ids` fit the
    words alike; options have their `groups` beside them. `on` are the spans that it rests on.

    Of one that only sounds alike `uneven` has more or fewer words than the name, and likeness in the whole
    only; of an even one `unlike` are the positions of words that are not the name's.
    """

    kind: Kind
    ids: tuple[str, ...]
    groups: tuple[str, ...]
    core: tuple[int, ...]
    start: int
    end: int
    text: str
    score: float
    # They tell of it, and settle nothing.
    rule: Rule = field(compare=False)
    on: tuple[Span, ...] = field(default=(), compare=False)
    guessed: bool = False
    uneven: bool = False
    unlike: tuple[int, ...] = ()

    @property
    def first(self) -> int:
        """The position of its first word, among all that were said."""
        return self.core[0]

    @property
    def past(self) -> int:
        """The position past its last word, among all that were said."""
        return self.core[-1] + 1

    @property
    def strong(self) -> bool:
        """Whether it was named, and not only in part or by a guess."""
        return self.score >= STRONG and not self.guessed

    @property
    def refs(self) -> list[tuple[str, str]]:
        """What it may mean, by group and id; the group of an item or size is empty."""
        return list(zip(self.groups or ("",) * len(self.ids), self.ids, strict=True))

    def alike(self, other: Span) -> bool:
        """Whether both mean the same thing, or things."""
        return (self.kind, self.groups, self.ids) == (other.kind, other.groups, other.ids)

    def mention(self) -> Mention:
        """A span that names something, as evidence keeps it."""
        assert self.kind != "number"
        return Mention(
            kind=self.kind,
            ids=self.ids,
            groups=self.groups,
            start=self.start,
            end=self.end,
            text=self.text,
            score=round(self.score, 3),
            strong=self.strong,
            guessed=self.guessed,
        )


def found(
    tokens: Utterance,
    core: tuple[int, ...],
    named: tuple[str, str, str],
    score: float,
    rule: Rule,
    *,
    on: Iterable[Span] = (),
    uneven: bool = False,
    unlike: tuple[int, ...] = (),
) -> Span:
    """The span of the words at `core` that names something by kind, group and id."""
    charge(2)
    kind, group, ref = named
    start, end = tokens[core[0]].start, tokens[core[-1]].end
    return Span(
        kind=cast(Kind, kind),
        ids=(ref,),
        groups=(group,) if kind == "option" else (),
        core=core,
        start=start,
        end=end,
        text=tokens.text[start:end],
        score=score,
        rule=rule,
        on=tuple(on),
        guessed=rule == "guess",
        uneven=uneven,
        unlike=unlike,
    )


@dataclass(frozen=True, slots=True)
class Number:
    """A number that counts something: its value, and positions [start, end) among the words that are left. A
    `likely` one is no mere sound-alike ("to lattes")."""

    start: int
    end: int
    value: int
    likely: bool = True
