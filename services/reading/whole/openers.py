"""Where the words of one part of several begin: "one large", "the other with oat", "whip on just one"."""

from __future__ import annotations

from typing import NamedTuple

from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, span
from services.reading.whole.places import Place


class Opener(NamedTuple):
    """Where the words of a part begin, how many it is of, and where that was said; None for "the other" and
    "the rest", which are what is left. Positions are of tokens."""

    start: int
    quantity: int | None
    said: int


def find_openers(tokens: Utterance, numbers: list[Number], values: list[Span], place: Place) -> list[Opener]:
    """The openers of the parts of what one place orders, in the order of the words. `values` are the sizes
    and options that are said after it.

    A number opens a part only where a size or option follows it, or stands before it ("whip on one"); an
    article where it is one of as many as there are, or after "and" where a size follows."""
    return _Parts(tokens, numbers, values, place).openers()


class _Parts:
    """The words after the name of one item, where parts of it may be told apart."""

    def __init__(self, tokens: Utterance, numbers: list[Number], values: list[Span], place: Place) -> None:
        self._tokens, self._language = tokens, tokens.language
        self._values, self._place = values, place
        self._until = place.region[1]
        self._counts = {n.start: n for n in numbers if n.likely}
        spans = [(*span(tokens, m), m.kind) for m in values]
        self._starts = {first for first, _, _ in spans}
        self._sizes = {first for first, _, kind in spans if kind == "size"}
        self._option_by_end = {end: first for first, end, kind in spans if kind == "option"}

    def openers(self) -> list[Opener]:
        kinds = self._kinds()
        found = self._after_options()
        taken = {opener.said for opener in found}
        at = self._place.last
        while at < self._until:
            number = self._counts.get(at) if at in taken else self._number(at)
            if at in kinds or self._is_one_more(at):
                found.append(Opener(at, 1, at))
            elif at not in taken and (opener := self._before_values(at, number)):
                found.append(opener)
            at = number.end if number else at + 1
        return sorted(found)

    def _number(self, at: int) -> Number | None:
        """The number at `at`, or right after it of those that are left: "the other three"."""
        left = self._is(at, self._language.the_other)
        return self._counts.get(at + 1 if left and at + 1 in self._counts else at)

    def _is_one_more(self, at: int) -> bool:
        """Whether an article after "and" leads to a size: "two large lattes and a small one"."""
        word, before = self._tokens[at].folded, self._tokens[at - 1].folded
        leads = word in self._language.indefinite_articles and at + 1 in self._sizes
        return leads and before in self._language.conjunctions

    def _before_values(self, at: int, number: Number | None) -> Opener | None:
        """The opener at `at`, where its `number` or "the other" is, if a size or option follows with nothing
        but little words between: "one of them without onions", "the other three with oat"."""
        if number is None and not self._is(at, self._language.the_other):
            return None
        after = number.end if number else at + 1
        while (
            after < self._until and after not in self._starts and self._is(after, self._language.of_each_part)
        ):
            after += 1
        return Opener(at, number.value if number else None, at) if after in self._starts else None

    def _after_options(self) -> list[Opener]:
        """Openers whose option stands right before them: "avocado on just one", "extra onions on one, light
        onions on the other"."""
        found = []
        for at in range(self._place.last, self._until):
            number = self._counts.get(at)
            if number is None and not self._is(at, self._language.the_other):
                continue
            on = self._on(at)
            if on in self._option_by_end and self._closes(number.end if number else at + 1):
                start = self._list_start(self._option_by_end[on])
                found.append(Opener(start, number.value if number else None, at))
        return found

    def _on(self, at: int) -> int | None:
        """Where the "on" of "on just the one" stands, of which the number is at `at`; None without one."""
        before = at - 1
        while self._is(before, self._language.before_the_one) and not self._tokens[before].after:
            before -= 1
        return before if self._is(before, self._language.placing) else None

    def _closes(self, at: int) -> bool:
        """Whether a clause ends before `at`, or past what tells of whom a number is: "one of the two"."""
        tokens, of_them = self._tokens, self._language.partitive_words
        while at < self._until and self._is(at, of_them) and not tokens[at - 1].after:
            at += 1
        return at == len(tokens) or bool(tokens[at - 1].after) or self._is(at, self._language.conjunctions)

    def _list_start(self, start: int) -> int:
        """Where a list of options begins, whose last begins at `start`, with the amount of the first: "whip
        and extra cinnamon on one"."""
        tokens, ends = self._tokens, self._option_by_end
        while start - 1 in ends and self._is(start - 1, self._language.conjunctions):
            if tokens[start - 1].after:
                break
            start = ends[start - 1]
        while tokens[start - 1].folded in self._language.amounts and not tokens[start - 1].after:
            start -= 1
        return start

    def _kinds(self) -> frozenset[int]:
        """Articles that tell kinds apart, as many as there are: "two shakes, a vanilla and an oreo"."""
        place, single = self._place, self._place.menu.choose_one
        offered = place.offered
        led = [
            (first - 1, groups)
            for first, groups in (
                (span(self._tokens, m)[0], offered.intersection(m.groups))
                for m in self._values
                if m.kind == "option"
            )
            if single.issuperset(groups) and self._is(first - 1, self._language.indefinite_articles)
        ]
        counted = [
            n.value for at, n in self._counts.items() if place.region[0] <= at and n.end <= place.first
        ]
        alike = bool(led) and all(groups and groups == led[0][1] for _, groups in led)
        return frozenset(at for at, _ in led) if alike and counted == [len(led)] else frozenset()

    def _is(self, at: int, words: frozenset[str]) -> bool:
        return self._tokens[at].folded in words
