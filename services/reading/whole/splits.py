"""One item said to be several: "two lattes, one large and one small", "three burgers, one of them without
onions", "two shakes, with whipped cream on just one".

Only plain cases are read here: the numbers add up, and it is clear whether a part is some of those before or
one more. What is not read stays open to the model, and a doubt.
"""

from __future__ import annotations

from dataclasses import dataclass

from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, span
from services.reading.whole.openers import Opener, find_openers
from services.reading.whole.places import Place


@dataclass(frozen=True, slots=True)
class Part:
    """Some of what one place orders: how many, and the mentions that are its own. `openers` are positions of
    the numbers that tell the parts apart, and count nothing else."""

    quantity: int
    mentions: tuple[Span, ...]
    openers: frozenset[int]


def parts(
    tokens: Utterance,
    mentions: list[Span],
    numbers: list[Number],
    place: Place,
    everywhere: list[Span],
) -> list[Part] | None:
    """What "three bagels, two toasted" tells apart: two toasted ones and one that is not; and what "two large
    lattes and one small" adds. None when nothing is told apart, when the numbers do not add up, or when it
    may be either. `everywhere` is what belongs to all parts."""
    start, end = place.region
    counts = [n for n in _likely(numbers) if start <= n.start and n.end <= place.first]
    if len(counts) > 1:
        return None
    choices = [m for m in mentions if m.kind != "item"]
    values = [m for m in _within(tokens, choices, place.last, end) if m not in everywhere]
    openers = find_openers(tokens, numbers, values, place)
    if not openers:
        return None
    ends = [*(opener.start for opener in openers[1:]), end]
    segments = [
        _Segment(opener, _within(tokens, values, opener.start, until))
        for opener, until in zip(openers, ends, strict=True)
    ]
    quantity = counts[0].value if counts else 1
    before = _within(tokens, choices, start, openers[0].start)
    split = _Split(tokens, place, quantity, before, segments, everywhere)
    if split.may_be_either():
        return None
    return split.with_more() if split.adds() else split.told_apart()


def _likely(numbers: list[Number]) -> list[Number]:
    """Numbers that are no mere sound-alikes."""
    return [number for number in numbers if number.likely]


def _within(tokens: Utterance, mentions: list[Span], start: int, end: int) -> list[Span]:
    """Mentions at token positions [start, end)."""
    spans = ((span(tokens, m), m) for m in mentions)
    return [m for (first, last), m in spans if start <= first and last <= end]


@dataclass(frozen=True, slots=True)
class _Segment:
    """The words of one part: what opens it, and the sizes and options that are its own."""

    opener: Opener
    own: list[Span]


@dataclass(frozen=True, slots=True)
class _Split:
    """So many of an item, what is said of it `before` any part, and the `segments` of its parts."""

    tokens: Utterance
    place: Place
    quantity: int
    before: list[Span]
    segments: list[_Segment]
    everywhere: list[Span]

    def may_be_either(self) -> bool:
        """Whether a number may be of the size: "two shoulders, one pound and one half pound" are two, or
        three."""
        sized = self.quantity > 1 and any(self._has_other_size(segment) for segment in self.segments)
        return sized and any(self._counts_itself(m) for m in self.before)

    def adds(self) -> bool:
        """Whether the parts are more than those before: "two large lattes and one small"."""
        return self._is_joined() or any(self._has_other_size(segment) for segment in self.segments)

    def with_more(self) -> list[Part] | None:
        """Those before, and the parts as so many more; None where a part may be a wish of another kind."""
        if not all(self._is_one_more(segment) for segment in self.segments):
            return None
        more = [self._part(segment.opener.quantity or 1, segment.own) for segment in self.segments]
        return [self._part(self.quantity, self.before), *more]

    def told_apart(self) -> list[Part] | None:
        """The parts as some of those before, and those that are left; None where they don't add up."""
        left = self.quantity
        if left < 2:
            return None
        found: list[Part] = []
        for segment in self.segments:
            quantity = segment.opener.quantity
            count = left if quantity is None else quantity
            left -= count
            found.append(self._part(count, [*self.before, *segment.own]))
        if left < 0 or any(part.quantity < 1 for part in found):
            return None
        if left:
            found.append(self._part(left, self.before))
        return found if len(found) > 1 else None

    def _part(self, quantity: int, own: list[Span]) -> Part:
        openers = frozenset(segment.opener.said for segment in self.segments)
        return Part(quantity, (*own, *self.everywhere), openers)

    def _counts_itself(self, mention: Span) -> bool:
        """Whether a size said after the item has its number in its name: "one pound"."""
        first = span(self.tokens, mention)[0]
        return mention.kind == "size" and first >= self.place.last and self.tokens[first].folded.isdigit()

    def _is_joined(self) -> bool:
        """Whether the first part is joined to those before by an "and", and is none of them."""
        tokens, first = self.tokens, self.segments[0].opener
        if tokens[first.start - 1].folded not in tokens.language.conjunctions or first.said != first.start:
            return False
        # "And one of them without": some of those before, and no more of them.
        after = tuple(token.folded for token in tokens[first.start + 1 : first.start + 3])
        return after not in tokens.language.of_several

    def _has_other_size(self, segment: _Segment) -> bool:
        """Whether a part has another size than was said of the item at first."""
        first = {m.ids for m in self.before if m.kind == "size"}
        return bool(first) and any(m.kind == "size" and m.ids not in first for m in segment.own)

    def _is_one_more(self, segment: _Segment) -> bool:
        """Whether a part is plainly one more ("and a small one") and no wish of another kind ("and a small
        side of ranch"): the size of its own ends it, but for options that leave none of those before in
        doubt."""
        tokens, opens = self.tokens, segment.opener.start
        sizes = [m for m in segment.own if m.kind == "size"]
        joined = tokens[opens - 1].folded in tokens.language.conjunctions
        if len(sizes) != 1 or not joined or not self._has_other_size(segment):
            return False
        first, after = span(tokens, sizes[0])
        return first == opens + 1 and self._may_end(after) and _groups(self.before) <= _groups(segment.own)

    def _may_end(self, at: int) -> bool:
        """Whether the words of a part may end with the size before `at`."""
        tokens = self.tokens
        closes = at == len(tokens) or bool(tokens[at - 1].after)
        return closes or tokens[at].folded in tokens.language.after_sizes


def _groups(mentions: list[Span]) -> set[str]:
    """The groups that options may be of."""
    return {group for m in mentions if m.kind == "option" for group in m.groups}
