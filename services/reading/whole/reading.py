"""Reading: the chart of an order with its lines-to-be, and what is said of several of them."""

from __future__ import annotations

import re
from dataclasses import dataclass

from services.reading.chart.chart import Chart
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, span
from services.reading.whole.places import Place, find_places
from services.reading.whole.sharing import again, shared, summed
from services.reading.whole.splits import Part, parts


@dataclass(frozen=True, slots=True)
class Reading:
    """A chart, and the places of its lines. `everywhere` is said of every line. By the first token of a
    place, `splits` holds the parts that its words tell apart and `more` how many more of it were wished for
    after. `shared`, `parted` and `likewise` tell of what no rule could read: it is left to the model, and a
    doubt."""

    chart: Chart
    places: list[Place]
    everywhere: list[Span]
    splits: dict[int, list[Part]]
    shared: bool
    parted: bool
    more: dict[int, int]
    likewise: bool

    @property
    def left(self) -> Utterance:
        """The words that were not taken back."""
        return self.chart.left

    @property
    def standing(self) -> list[Span]:
        """The names that stand among the words that are left, in their order."""
        return list(self.chart.standing)

    @property
    def numbers(self) -> list[Number]:
        """The numbers that count something."""
        return list(self.chart.numbers)

    @property
    def plain(self) -> bool:
        """Whether each line's own words tell all about it."""
        return not self.chart.corrected and not self.shared


def read(chart: Chart) -> Reading:
    """Find the lines-to-be in a finished chart, and what is said of several of them."""
    left, standing, numbers = chart.left, list(chart.standing), list(chart.numbers)
    places, torn = find_places(chart)
    more = again(left, standing, places)
    of_all = shared(left, standing)
    everywhere = of_all or []
    told_apart = {place.first: parts(left, standing, numbers, place, everywhere) for place in places}
    splits = {first: found for first, found in told_apart.items() if found}
    doubts = _Doubts(left, standing, numbers, places)
    return Reading(
        chart=chart,
        places=places,
        everywhere=everywhere,
        splits=splits,
        shared=chart.torn or torn or doubts.share(unread=of_all is None) or doubts.tell_of_another_line(),
        more=more or {},
        likewise=more is None,
        parted=not splits and not more and _outside(left.language.parted, left, standing),
    )


@dataclass(frozen=True, slots=True)
class _Doubts:
    """The words that are left of an order, and what they name and count: whether they say anything of several
    lines that no rule reads."""

    left: Utterance
    standing: list[Span]
    numbers: list[Number]
    places: list[Place]

    def share(self, *, unread: bool) -> bool:
        """Whether the words may share something out: a word of sharing that stays `unread`, numbers that may
        be of kinds of one item, or "six wings", which is read as one six piece, and which may be six of
        them."""
        if unread and _outside(self.left.language.shared, self.left, self.standing):
            return True
        return summed(self.left, self.numbers, self.places) or any(
            m.kind == "option" and m.rule == "so_many_pieces" for m in self.standing
        )

    def tell_of_another_line(self) -> bool:
        """Whether a line is told by another, by its name or by whose it is."""
        language, lines = self.left.language, len(self.places)
        if lines < 2 and all(number.value == 1 for number in self.numbers):
            return False  # there is one line, of one thing
        if _outside(language.likewise, self.left, self.standing):
            return True
        if lines == 1:
            return _outside(language.for_whom, self.left, self.standing)
        return lines > 1 and self._name_again()

    def _name_again(self) -> bool:
        """ "Extra pickles only on the fish" speaks of one of several lines by a part of its name."""
        named = (span(self.left, m)[0] for m in self.standing if m.kind == "item")
        return any(not any(place.first <= at < place.last for place in self.places) for at in named)


def _outside(words: re.Pattern[str], left: Utterance, standing: list[Span]) -> bool:
    """Whether such words are said outside any name."""
    rest = list(left.text)
    for mention in standing:
        rest[mention.start : mention.end] = "_" * (mention.end - mention.start)
    return words.search("".join(rest)) is not None
