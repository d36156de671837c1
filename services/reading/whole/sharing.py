"""Values said of several lines at once ("all with oat milk"), and items said again ("and another one of
those").

Only plain cases are read here; what is not stays open to the model, and a doubt. How one item is said to be
several is the business of `splits.py`.
"""

from __future__ import annotations

from itertools import accumulate, pairwise

from schemas.evidence import Mention
from services.reading.chart.mentions import phrase_end
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance, folded, span
from services.reading.language.english import AMOUNTS, AND
from services.reading.language.language import language_of
from services.reading.language.turns import ADDS, AGAIN, EACH, OF_EACH
from services.reading.values.numbers import Number, number_value
from services.reading.whole.places import Place


def shared(tokens: Utterance, mentions: list[Mention]) -> list[Mention] | None:
    """Sizes and options said of every line; None where a word of sharing out shares nothing that can be
    told."""
    at = {span(tokens, m)[0]: m for m in mentions if m.kind in ("size", "option")}
    ends = {span(tokens, m)[1]: m for m in at.values()}
    items = {span(tokens, m)[0] for m in mentions if m.kind == "item"}
    named = {i for m in mentions for i in range(*span(tokens, m))}
    found: list[Mention] = []
    for i, token in enumerate(tokens):
        if i in named or token.folded not in EACH:
            continue
        here = _run_from(tokens, i + 1, at, items) or _run_before(tokens, i, ends)
        if not here or _goes_on(tokens, here[0]):
            return None
        found += here
    return found


def _goes_on(tokens: Utterance, mention: Mention) -> bool:
    """Whether what is shared ends a list of which the rest may be shared too: "one cream and one sugar in
    each"."""
    first = span(tokens, mention)[0]
    counted = first > 1 and number_value(tokens[first - 1].folded) is not None
    return counted and tokens[first - 2].folded in AND


def _run_from(tokens: Utterance, i: int, at: dict[int, Mention], items: set[int]) -> list[Mention]:
    """Mentions that follow, with nothing but little words between; none where they lead to an item, which
    is one of both ("sourdough for both a six inch ham and a tuna")."""
    found: list[Mention] = []
    while i < len(tokens):
        if i in at:
            mention = at[i]
            found.append(mention)
            i = span(tokens, mention)[1]
            if i in items and not tokens[i - 1].after:
                return []
            if tokens[i - 1].after in (".", "?", "!"):
                break
        elif tokens[i].folded in OF_EACH | AMOUNTS.keys() or (found and tokens[i].folded in AND):
            i += 1
        else:
            break
    return found


def _run_before(tokens: Utterance, i: int, ends: dict[int, Mention]) -> list[Mention]:
    """ "With oat milk for both", "with a shot each"."""
    while i > 0 and i not in ends and tokens[i - 1].folded in OF_EACH and not tokens[i - 1].after:
        i -= 1
    return [ends[i]] if i in ends and not tokens[i - 1].after else []


def again(tokens: Utterance, mentions: list[Mention], places: list[Place]) -> dict[int, int] | None:
    """How many more of a place are wished for, by its first token ("and another one of those"); None where
    what follows makes a difference ("the same, but with whip")."""
    named = {i for m in mentions for i in range(*span(tokens, m))}
    more: dict[int, int] = {}
    i = 0
    while i < len(tokens):
        end = None if i in named else phrase_end(tokens, i, AGAIN)
        if end is None:
            i += 1
            continue
        i = end
        before = [place for place in places if place.last <= i]
        until = next((j for j in range(i, len(tokens)) if tokens[j - 1].after in SENTENCE_ENDS), len(tokens))
        of_one_thing = [token.folded for token in tokens[i : i + 1]] in (["way"], ["size"])
        if not before or named & set(range(i, until)) or of_one_thing:
            return None
        more[before[-1].first] = more.get(before[-1].first, 0) + 1
    return more


def summed(tokens: Utterance, numbers: list[Number], places: list[Place]) -> bool:
    """Whether what follows an item may be kinds of it, since the numbers add up: "five cookies, three oatmeal
    and two chocolate chip"."""
    counts = [
        next((n.value for n in numbers if place.region[0] <= n.start and n.end <= place.first), 1)
        for place in places
    ]
    for i, place in enumerate(places[:-2]):
        joined = {t.folded for t in tokens[place.last : places[i + 1].first]} & AND
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


def repeated(tokens: Utterance, mentions: list[Mention], places: list[Place]) -> str:
    """A name that was perhaps only said again ("the nugget meal, the kids nugget meal with fries"): nothing
    was said of it the first time that was not said the second, and no word adds a second one."""
    for first, second in pairwise(places):
        if set(first.items) & set(second.items):
            own = [
                {
                    m.ids
                    for m in mentions
                    if place.own[0] <= span(tokens, m)[0] < place.own[1] and m.kind != "item"
                }
                for place in (first, second)
            ]
            adds = {token.folded for token in tokens[first.last : second.first]} & (AND | ADDS)
            if own[0] <= own[1] and not adds:
                return second.anchor
    return ""
