"""One item said to be several: "two lattes, one large and one small", "three burgers, one of them without
onions", "two shakes, with whipped cream on just one".

Only plain cases are read here: the numbers add up, and it is clear whether a part is some of those before or
one more. What is not read stays open to the model, and a doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

from schemas.evidence import Mention
from services.reading.chart.tokens import Utterance, span
from services.reading.language.english import AMOUNTS, AND
from services.reading.language.turns import OF_EACH, THE_OTHER
from services.reading.values.numbers import Number
from services.reading.whole.places import Place

# After the size of one more of the same: "and a small one", "and a small with soy", "and a small, please".
_AFTER_SIZE = AND | frozenset("1 one with without no please thank thanks".split())
# Between the number of a part and what is said of it: "one of them without", "three with extra".
_OF_PART = OF_EACH | AMOUNTS.keys()
_OF_THEM = frozenset("of them those em the 2".split())


@dataclass(frozen=True, slots=True)
class Part:
    """Some of what one place orders: how many, and the mentions that are its own. `openers` are positions of
    the numbers that tell the parts apart, and count nothing else."""

    quantity: int
    mentions: tuple[Mention, ...]
    openers: frozenset[int]


def parts(
    tokens: Utterance,
    mentions: list[Mention],
    numbers: list[Number],
    place: Place,
    everywhere: list[Mention],
) -> list[Part] | None:
    """What "three bagels, two toasted" tells apart: two toasted ones and one that is not; and what "two large
    lattes and one small" adds. None when nothing is told apart, when the numbers do not add up, or when it
    may be either. `everywhere` is what belongs to all parts."""
    start, end = place.region
    head = [n for n in numbers if start <= n.start and n.end <= place.first and n.likely]
    if len(head) > 1:
        return None
    values = [
        m
        for m in mentions
        if m.kind in ("size", "option")
        and place.last <= span(tokens, m)[0]
        and span(tokens, m)[1] <= end
        and m not in everywhere
    ]
    openers = _openers(tokens, numbers, values, place)
    if not openers:
        return None
    counting = frozenset(number for _, _, number in openers)
    before = [
        m
        for m in mentions
        if m.kind in ("size", "option")
        and start <= span(tokens, m)[0]
        and span(tokens, m)[1] <= openers[0].start
    ]
    rest = head[0].value if head else 1
    owned = [
        (o.quantity, [m for m in values if o.start <= span(tokens, m)[0] and span(tokens, m)[1] <= until])
        for o, until in zip(openers, [*(o.start for o in openers[1:]), end], strict=True)
    ]
    another_size = any(_other_size(before, own) for _, own in owned)
    first = openers[0]
    joined = tokens[first.start - 1].folded in AND and first.said == first.start
    joined = joined and not _of_them(tokens, first.start)
    if another_size and rest > 1 and any(_counts_itself(tokens, m, place) for m in before):
        return None  # "two shoulders, one pound and one half pound" are two, or three
    if another_size or joined:
        added = all(_adds(tokens, o.start, before, own) for o, (_, own) in zip(openers, owned, strict=True))
        if not added:
            return None
        more = [Part(quantity or 1, (*own, *everywhere), counting) for quantity, own in owned]
        return [Part(rest, (*before, *everywhere), counting), *more]
    if rest < 2:
        return None
    found: list[Part] = []
    for quantity, own in owned:
        count = rest if quantity is None else quantity
        rest -= count
        found.append(Part(count, (*_kept(before, own), *own, *everywhere), counting))
    if rest < 0 or any(part.quantity < 1 for part in found):
        return None
    if rest:
        found.append(Part(rest, (*before, *everywhere), counting))
    return found if len(found) > 1 else None


def _counts_itself(tokens: Utterance, mention: Mention, place: Place) -> bool:
    """Whether a size said after the item has its number in its name: "one pound"."""
    first = span(tokens, mention)[0]
    return mention.kind == "size" and first >= place.last and tokens[first].folded.isdigit()


def _of_them(tokens: Utterance, opens: int) -> bool:
    """ "One of them": some of those before, and no more of them."""
    words = [token.folded for token in tokens[opens + 1 : opens + 3]]
    return words[:1] == ["of"] and words[1:] in (["them"], ["those"], ["em"], ["the"])


def _other_size(before: list[Mention], own: list[Mention]) -> bool:
    """Whether a part has another size than was said of the item at first."""
    first = {m.ids for m in before if m.kind == "size"}
    return bool(first) and any(m.kind == "size" and m.ids not in first for m in own)


def _adds(tokens: Utterance, opens: int, before: list[Mention], own: list[Mention]) -> bool:
    """Whether a part is plainly one more ("and a small one") and no wish of another kind ("and a small side
    of ranch"): the size of its own ends it, but for options that leave none of those before in doubt."""
    sizes = [m for m in own if m.kind == "size"]
    if len(sizes) != 1 or tokens[opens - 1].folded not in AND or not _other_size(before, own):
        return False
    first, after = span(tokens, sizes[0])
    ends = after == len(tokens) or tokens[after - 1].after or tokens[after].folded in _AFTER_SIZE
    groups = [{g for m in part if m.kind == "option" for g in m.groups} for part in (before, own)]
    return first == opens + 1 and bool(ends) and groups[0] <= groups[1]


def _kept(before: list[Mention], own: list[Mention]) -> list[Mention]:
    """A part with a size of its own does not have the one said before."""
    sized = any(m.kind == "size" for m in own)
    return [m for m in before if not (sized and m.kind == "size")]


class _Opener(NamedTuple):
    """Where the words of a part begin, how many it is of, and where that was said; None for "the other" and
    "the rest", which are what is left."""

    start: int
    quantity: int | None
    said: int


def _openers(tokens: Utterance, numbers: list[Number], values: list[Mention], place: Place) -> list[_Opener]:
    """A number opens a part only where a size or option follows it, or stands before it ("whip on one"); an
    article after "and" where a size follows."""
    at = {span(tokens, m)[0] for m in values}
    sized = {span(tokens, m)[0] for m in values if m.kind == "size"}
    counts = {n.start: n for n in numbers if n.likely}
    kinds = _kinds(tokens, counts, values, place)
    found = _on_some(tokens, counts, values, place)
    taken = {opener.said for opener in found}
    i = place.last
    while i < place.region[1]:
        number = counts.get(i)
        others = tokens[i].folded in THE_OTHER
        after = number.end if number else i + 1
        article = tokens[i].folded in ("a", "an") and tokens[i - 1].folded in AND and after in sized
        article = article or i in kinds
        if article:
            found.append(_Opener(i, 1, i))
        elif (number or others) and i not in taken:
            if others and after in counts:  # "the other three"
                number = counts[after]
                after = number.end
            while after < place.region[1] and after not in at and tokens[after].folded in _OF_PART:
                after += 1
            if after in at:
                found.append(_Opener(i, number.value if number else None, i))
        i = number.end if number else i + 1
    return sorted(found)


def _on_some(
    tokens: Utterance, counts: dict[int, Number], values: list[Mention], place: Place
) -> list[_Opener]:
    """ "Avocado on just one", "extra onions on one, light onions on the other": the option right before."""
    ends = {span(tokens, m)[1]: span(tokens, m)[0] for m in values if m.kind == "option"}
    found = []
    for i in range(place.last, place.region[1]):
        number = counts.get(i)
        if number is None and tokens[i].folded not in THE_OTHER:
            continue
        before = i - 1
        while tokens[before].folded in ("just", "only", "the") and not tokens[before].after:
            before -= 1
        after = number.end if number else i + 1
        while after < place.region[1] and tokens[after].folded in _OF_THEM and not tokens[after - 1].after:
            after += 1
        closes = after == len(tokens) or tokens[after - 1].after or tokens[after].folded in AND
        if tokens[before].folded not in ("on", "in") or before not in ends or not closes:
            continue
        start = ends[before]
        while tokens[start - 1].folded in AND and start - 1 in ends and not tokens[start - 1].after:
            start = ends[start - 1]  # "whip and cinnamon on one"
        while tokens[start - 1].folded in AMOUNTS and not tokens[start - 1].after:
            start -= 1
        found.append(_Opener(start, number.value if number else None, i))
    return found


def _kinds(
    tokens: Utterance, counts: dict[int, Number], values: list[Mention], place: Place
) -> frozenset[int]:
    """Articles that tell kinds apart, as many as there are: "two shakes, a vanilla and an oreo"."""
    single = place.menu.choose_one
    offered = place.offered
    led = [
        (span(tokens, m)[0] - 1, offered.intersection(m.groups))
        for m in values
        if m.kind == "option" and single.issuperset(offered.intersection(m.groups))
        if tokens[span(tokens, m)[0] - 1].folded in ("a", "an")
    ]
    heads = [n.value for at, n in counts.items() if place.region[0] <= at and n.end <= place.first]
    alike = bool(led) and all(groups and groups == led[0][1] for _, groups in led)
    return frozenset(at for at, _ in led) if alike and heads == [len(led)] else frozenset()
