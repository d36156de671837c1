"""Values said of several lines at once, and one item said to be several: "all with oat milk", "two lattes,
one large and one small".

Only plain cases are read here. `shared` finds values that hold for every line; `parts` splits one place into
as many as the words tell apart. What they do not read stays open to the model, and a doubt.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import accumulate, pairwise

from schemas.evidence import Mention
from services.pipeline.english import ADDS, AGAIN, AMOUNTS, AND, EACH, OF_EACH, THE_OTHER
from services.pipeline.places import Place
from services.pipeline.quantifiers import Number, number_value
from services.pipeline.words import SENTENCE_ENDS, Token, span, tokenize

# After the size of one more of the same: "and a small one", "and a small with soy", "and a small, please".
_AFTER_SIZE = AND | frozenset("1 one with without no please thank thanks".split())
# Between the number of a part and what is said of it: "one of them without", "three with extra".
_OF_PART = OF_EACH | AMOUNTS.keys()


@dataclass(frozen=True, slots=True)
class Part:
    """Some of what one place orders: how many, and the mentions that are its own. `openers` are positions of
    the numbers that tell the parts apart, and count nothing else."""

    quantity: int
    mentions: tuple[Mention, ...]
    openers: frozenset[int]


def shared(tokens: list[Token], mentions: list[Mention]) -> list[Mention] | None:
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


def _goes_on(tokens: list[Token], mention: Mention) -> bool:
    """Whether what is shared ends a list of which the rest may be shared too: "one cream and one sugar in
    each"."""
    first = span(tokens, mention)[0]
    counted = first > 1 and number_value(tokens[first - 1].folded) is not None
    return counted and tokens[first - 2].folded in AND


def _run_from(tokens: list[Token], i: int, at: dict[int, Mention], items: set[int]) -> list[Mention]:
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


def _run_before(tokens: list[Token], i: int, ends: dict[int, Mention]) -> list[Mention]:
    """ "With oat milk for both", "with a shot each"."""
    while i > 0 and i not in ends and tokens[i - 1].folded in OF_EACH and not tokens[i - 1].after:
        i -= 1
    return [ends[i]] if i in ends and not tokens[i - 1].after else []


def parts(
    tokens: list[Token],
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
    before = [
        m
        for m in mentions
        if m.kind in ("size", "option")
        and start <= span(tokens, m)[0]
        and span(tokens, m)[1] <= openers[0][0]
    ]
    rest = head[0].value if head else 1
    starts = frozenset(opens for opens, _ in openers)
    owned = [
        (quantity, [m for m in values if opens <= span(tokens, m)[0] and span(tokens, m)[1] <= until])
        for (opens, quantity), until in zip(openers, [*(o[0] for o in openers[1:]), end], strict=True)
    ]
    another_size = any(_other_size(before, own) for _, own in owned)
    joined = tokens[openers[0][0] - 1].folded in AND and not _of_them(tokens, openers[0][0])
    if another_size or joined:
        added = all(
            _adds(tokens, opens, before, own) for (opens, _), (_, own) in zip(openers, owned, strict=True)
        )
        if not added:
            return None
        more = [Part(quantity or 1, (*own, *everywhere), starts) for quantity, own in owned]
        return [Part(rest, (*before, *everywhere), starts), *more]
    if rest < 2:
        return None
    found: list[Part] = []
    for quantity, own in owned:
        count = rest if quantity is None else quantity
        rest -= count
        found.append(Part(count, (*_kept(before, own), *own, *everywhere), starts))
    if rest < 0 or any(part.quantity < 1 for part in found):
        return None
    if rest:
        found.append(Part(rest, (*before, *everywhere), starts))
    return found if len(found) > 1 else None


def _of_them(tokens: list[Token], opens: int) -> bool:
    """ "One of them": some of those before, and no more of them."""
    words = [token.folded for token in tokens[opens + 1 : opens + 3]]
    return words[:1] == ["of"] and words[1:] in (["them"], ["those"], ["em"], ["the"])


def _other_size(before: list[Mention], own: list[Mention]) -> bool:
    """Whether a part has another size than was said of the item at first."""
    first = {m.ids for m in before if m.kind == "size"}
    return bool(first) and any(m.kind == "size" and m.ids not in first for m in own)


def _adds(tokens: list[Token], opens: int, before: list[Mention], own: list[Mention]) -> bool:
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


def _openers(
    tokens: list[Token], numbers: list[Number], values: list[Mention], place: Place
) -> list[tuple[int, int | None]]:
    """Where a part begins, and how many it is of; None for "the other" and "the rest", which are what is
    left. A number opens one only where a size or option follows it, an article after "and" where a size
    does."""
    at = {span(tokens, m)[0] for m in values}
    sized = {span(tokens, m)[0] for m in values if m.kind == "size"}
    counts = {n.start: n for n in numbers if n.likely}
    kinds = _kinds(tokens, counts, values, place)
    found: list[tuple[int, int | None]] = []
    i = place.last
    while i < place.region[1]:
        number = counts.get(i)
        others = tokens[i].folded in THE_OTHER
        after = number.end if number else i + 1
        article = tokens[i].folded in ("a", "an") and tokens[i - 1].folded in AND and after in sized
        article = article or i in kinds
        if article:
            found.append((i, 1))
        elif number or others:
            if others and after in counts:  # "the other three"
                number = counts[after]
                after = number.end
            while after < place.region[1] and after not in at and tokens[after].folded in _OF_PART:
                after += 1
            if after in at:
                found.append((i, number.value if number else None))
        i = number.end if number else i + 1
    return found


def _kinds(
    tokens: list[Token], counts: dict[int, Number], values: list[Mention], place: Place
) -> frozenset[int]:
    """Articles that tell kinds apart, as many as there are: "two shakes, a vanilla and an oreo"."""
    single = {group.id for group in place.menu.option_groups if group.choose == "one"}
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


def again(tokens: list[Token], mentions: list[Mention], places: list[Place]) -> dict[int, int] | None:
    """How many more of a place are wished for, by its first token ("and another one of those"); None where
    what follows makes a difference ("the same, but with whip")."""
    named = {i for m in mentions for i in range(*span(tokens, m))}
    more: dict[int, int] = {}
    i = 0
    while i < len(tokens):
        words = tuple(token.folded for token in tokens[i : i + 4])
        phrase = max((p for p in AGAIN if words[: len(p)] == p), key=len, default=None)
        if phrase is None or i in named:
            i += 1
            continue
        i += len(phrase)
        before = [place for place in places if place.last <= i]
        until = next((j for j in range(i, len(tokens)) if tokens[j - 1].after in SENTENCE_ENDS), len(tokens))
        if not before or named & set(range(i, until)) or words[len(phrase) : len(phrase) + 1] == ("way",):
            return None
        more[before[-1].first] = more.get(before[-1].first, 0) + 1
    return more


def summed(tokens: list[Token], numbers: list[Number], places: list[Place]) -> bool:
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
    words = {token.folded for token in tokenize(place.anchor)}
    return any(
        item.sku in place.items or words <= {token.folded for token in tokenize(item.name)}
        for item in menu.items
        if item.category in categories
    )


def repeated(tokens: list[Token], mentions: list[Mention], places: list[Place]) -> str:
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
