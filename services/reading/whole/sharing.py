"""Values said of several lines at once ("all with oat milk"), and items said again ("and another one of
those").

Only plain cases are read here; what is not stays open to the model, and a doubt. How one item is said to be
several is the business of `splits.py`.
"""

from __future__ import annotations

from collections import Counter
from itertools import accumulate, pairwise

from services.reading.chart.phrases import phrase_end
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance, covered, folded, span
from services.reading.language.language import language_of
from services.reading.values.numbers import number_value
from services.reading.whole.places import Place


def shared(tokens: Utterance, mentions: list[Span]) -> list[Span] | None:
    """Sizes and options said of every line; None where a word of sharing out shares nothing that can be
    told."""
    sharing = [i for i, token in enumerate(tokens) if token.folded in tokens.language.each]
    if not sharing:
        return []
    at = {span(tokens, m)[0]: m for m in mentions if m.kind in ("size", "option")}
    ends = {span(tokens, m)[1]: m for m in at.values()}
    items = {span(tokens, m)[0] for m in mentions if m.kind == "item"}
    named = covered(tokens, mentions)
    found: list[Span] = []
    for i in (i for i in sharing if i not in named):
        here = _run_from(tokens, i + 1, at, items) or _run_before(tokens, i, ends)
        if not here or _goes_on(tokens, here[0]):
            return None
        found += here
    return found


def _goes_on(tokens: Utterance, mention: Span) -> bool:
    """Whether what is shared ends a list of which the rest may be shared too: "one cream and one sugar in
    each"."""
    first = span(tokens, mention)[0]
    counted = first > 1 and number_value(tokens[first - 1].folded, tokens.language) is not None
    return counted and tokens[first - 2].folded in tokens.language.conjunctions


def _run_from(tokens: Utterance, i: int, at: dict[int, Span], items: set[int]) -> list[Span]:
    """Mentions that follow, with nothing but little words between; none where they lead to an item, which
    is one of both ("sourdough for both a six inch ham and a tuna")."""
    found: list[Span] = []
    language = tokens.language
    while i < len(tokens):
        word = tokens[i].folded
        if i in at:
            mention = at[i]
            found.append(mention)
            i = span(tokens, mention)[1]
            if i in items and not tokens[i - 1].after:
                return []
            if tokens[i - 1].after in SENTENCE_ENDS:
                break
        elif word in language.of_each_part or (found and word in language.conjunctions):
            i += 1
        else:
            break
    return found


def _run_before(tokens: Utterance, i: int, ends: dict[int, Span]) -> list[Span]:
    """ "With oat milk for both", "with a shot each"."""
    little = tokens.language.of_each
    while i > 0 and i not in ends and tokens[i - 1].folded in little and not tokens[i - 1].after:
        i -= 1
    return [ends[i]] if i in ends and not tokens[i - 1].after else []


def again(tokens: Utterance, mentions: list[Span], places: list[Place]) -> dict[int, int] | None:
    """How many more of a place are wished for, by its first token ("and another one of those"); None where
    what follows makes a difference ("the same, but with whip")."""
    named = covered(tokens, mentions)
    more: Counter[int] = Counter()
    i = 0
    while i < len(tokens):
        end = None if i in named else phrase_end(tokens, i, tokens.language.again)
        if end is None:
            i += 1
            continue
        i = end
        before = [place for place in places if place.last <= i]
        if not before or _differs(tokens, i, named):
            return None
        more[before[-1].first] += 1
    return dict(more)


def _differs(tokens: Utterance, at: int, named: set[int]) -> bool:
    """Whether what follows at `at` tells how the one that is wished for again differs, or in what alone it is
    the same ("the same size")."""
    if at < len(tokens) and tokens[at].folded in tokens.language.respects:
        return True
    until = next((i for i in range(at, len(tokens)) if tokens[i - 1].after in SENTENCE_ENDS), len(tokens))
    return not named.isdisjoint(range(at, until))


def summed(tokens: Utterance, numbers: list[Number], places: list[Place]) -> bool:
    """Whether what follows an item may be kinds of it, since the numbers add up: "five cookies, three oatmeal
    and two chocolate chip"."""
    counts = [
        next((n.value for n in numbers if place.region[0] <= n.start and n.end <= place.first), 1)
        for place in places
    ]
    for i, place in enumerate(places[:-2]):
        between = tokens[place.last : places[i + 1].first]
        joined = any(token.folded in tokens.language.conjunctions for token in between)
        sums = list(accumulate(counts[i + 1 :]))
        if counts[i] > 1 and not joined and counts[i] in sums[1:]:
            following = places[i + 1 : i + 2 + sums.index(counts[i], 1)]
            if all(_may_be_kind(other, place) for other in following):
                return True
    return False


def _may_be_kind(place: Place, head: Place) -> bool:
    """Whether what is ordered at a place, or what its words begin ("oatmeal"), is of the category of
    another's: two corn cobs are no salad and no quesadilla."""
    menu = head.menu
    categories = {item.category for item in menu.items if item.sku in head.items}
    language = language_of(menu)
    words = set(folded(place.anchor, language))
    return any(
        item.sku in place.items or words <= set(folded(item.name, language))
        for item in menu.items
        if item.category in categories
    )


def repeated(tokens: Utterance, mentions: list[Span], places: list[Place]) -> str:
    """A name that was perhaps only said again ("the nugget meal, the kids nugget meal with fries"): nothing
    was said of it the first time that was not said the second, and no word adds a second one."""
    adding = tokens.language.conjunctions | tokens.language.adds
    for first, second in pairwise(places):
        if set(first.items).isdisjoint(second.items):
            continue
        adds = any(token.folded in adding for token in tokens[first.last : second.first])
        if not adds and _own(tokens, mentions, first) <= _own(tokens, mentions, second):
            return second.anchor
    return ""


def _own(tokens: Utterance, mentions: list[Span], place: Place) -> set[tuple[str, ...]]:
    """What is said of the item at a place and of no other, by ids."""
    start, end = place.own
    return {m.ids for m in mentions if m.kind != "item" and start <= span(tokens, m)[0] < end}
