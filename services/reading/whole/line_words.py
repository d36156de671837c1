"""The words of a line to be: what may be said of the item at one place, and how sure that is."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property

from schemas.cart import MAX_QUANTITY
from schemas.evidence import OptionEvidence
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import span
from services.reading.values.amounts import options_heard
from services.reading.values.numbers import is_plural
from services.reading.whole.places import Place
from services.reading.whole.reading import Reading


@dataclass(frozen=True)
class LineWords:
    """The words of the item at one place.

    `here` are the mentions where its values may be looked for, `own` those that belong to no other place;
    both with what is said of every line. `counted` are the numbers that may count it.
    """

    reading: Reading
    place: Place
    odd: set[int]
    start: int
    end: int
    here: list[Span]
    own: list[Span]
    options: list[OptionEvidence]
    counted: list[Number]

    @cached_property
    def sizes(self) -> list[Span]:
        """Sizes that it may have; its own are meant before one that was said of all."""
        everywhere = self.reading.everywhere
        own = [m for m in self.here if m.kind == "size" and m not in everywhere]
        return own or [m for m in everywhere if m.kind == "size"]

    @cached_property
    def own_sizes(self) -> list[Span]:
        """Those of its sizes that were said of no other item."""
        return [m for m in self.sizes if m in self.own]

    @cached_property
    def is_sure(self) -> bool:
        """Whether the words tell all about one line: nothing takes back, shares out or tells apart."""
        if not self.reading.plain or self.reading.parted:
            return False
        return len(self.own_sizes) <= 1 and sum(n.likely for n in self.counted) <= 1

    def told_options(self) -> list[OptionEvidence]:
        """Options that it may have, those required that were said of it alone where the words are sure."""
        if not self.is_sure:
            return self.options
        tokens = self.reading.left
        # "A hot dog and a mocha": beside an unknown word it may be part of another name.
        clear = [m for m in self.own if not {span(tokens, m)[0] - 1, span(tokens, m)[1]} & self.odd]
        return requiring(self.options, said_of_it_alone(clear, self.place))

    def quantities(self) -> tuple[int, ...]:
        """How many it may be; one number where the words are sure."""
        more = self.reading.more.get(self.place.first, 0)
        likely = [n for n in self.counted if n.likely and n.value <= MAX_QUANTITY]
        if self.is_sure and len(likely) == 1:
            number = likely[0]
            if self.place.own[0] <= number.start < self.place.last:
                return (number.value + more,)
            if not more and self._closes_line(number):
                return (number.value,)
        if self.is_sure and more and all(n.value == 1 for n in self.counted):
            return (1 + more,)
        return tuple(sorted({1, *(n.value for n in self.counted if n.value <= MAX_QUANTITY)}))

    def _closes_line(self, number: Number) -> bool:
        """ "Burgers, two. Tots, one": a number right after the name, and nothing that it might lead to."""
        tokens, end = self.reading.left, number.end
        if number.start != self.place.last:
            return False
        if end == len(tokens) or tokens[end - 1].after:
            return True
        return tokens[end].folded in tokens.language.conjunctions | tokens.language.politeness

    def copies(self) -> int:
        """How many lines it may be: two sizes or numbers said of one item split it, unless one took the other
        back."""
        if not self.reading.plain or self.is_sure:
            return 1
        return max(1 + self.reading.parted, len(self.own_sizes), len(self.counted))

    def is_stray(self) -> bool:
        """Whether how many, or what of it, is no wish that it can fulfil."""
        return self._lacks_number() or self._asks_too_much()

    def _lacks_number(self) -> bool:
        """ "Lattes, please": how many? "A six pack of muffins" is one, though they are named so."""
        if self.counted or self._is_pack():
            return False
        named = [m for m in self.reading.standing if m.kind == "item" and m.text == self.place.anchor]
        return any(is_plural(m, self.place.menu) for m in named)

    def _is_pack(self) -> bool:
        """Whether its size is a number of pieces."""
        tokens = self.reading.left
        words = {t.folded for m in self.own_sizes for t in tokens[slice(*span(tokens, m))]}
        return not words.isdisjoint(tokens.language.pieces)

    def _asks_too_much(self) -> bool:
        """Whether something was asked of it that it does not come with ("a muffin with oat milk")."""
        offered = self.place.offered
        asked = [m for m in self.own if m.kind == "option" and m.strong and m not in self.reading.everywhere]
        return any(offered.isdisjoint(m.groups) for m in asked)


def words_of(reading: Reading, place: Place, odd: set[int]) -> LineWords:
    """The words of the item at `place`: all of them where a line's own words don't tell all about it."""
    tokens = reading.left
    start, end = place.region if reading.plain else (0, len(tokens))

    def within(low: int, high: int) -> list[Span]:
        spans = ((span(tokens, m), m) for m in reading.standing if m not in reading.everywhere)
        return [*(m for (first, last), m in spans if low <= first and last <= high), *reading.everywhere]

    here = within(start, end)
    options, counting = options_heard(tokens, here, reading.standing, reading.numbers, place.menu)
    # "Two burritos, a latte": what the number counts is not on the menu.
    counting |= {n for n in reading.numbers if n.end in odd}
    counted = [n for n in reading.numbers if start <= n.start and n.end <= end and n not in counting]
    return LineWords(reading, place, odd, start, end, here, within(*place.own), options, counted)


def requiring(options: Iterable[OptionEvidence], named: set[tuple[str, str]]) -> list[OptionEvidence]:
    """`options`, those required that are `named` by group and id."""
    return [o.model_copy(update={"required": (o.group, o.id) in named}) for o in options]


def said_of_it_alone(own: Sequence[Span], place: Place) -> set[tuple[str, str]]:
    """Options whose whole name was said here and that the item offers in one group; of a choose-one group
    only when no other of it was said."""
    offered = place.offered
    sure: set[tuple[str, str]] = set()
    for mention in own:
        readings = [r for r in zip(mention.groups, mention.ids, strict=False) if r[0] in offered]
        if mention.kind == "option" and mention.strong and len(readings) == 1:
            sure.add(readings[0])
    chosen = [group for group, _ in sure]
    single = place.menu.choose_one
    return {(g, ref) for g, ref in sure if g not in single or chosen.count(g) == 1}
