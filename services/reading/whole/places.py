"""Where in the transcript the lines of an order are: which mentions name an item that may be a line, and
which words around each are its own.

Between two items the words are split at the last joint ("and", a comma): what is before it belongs to the
item before, what is after it leads to the next. Without a joint they may belong to either.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance, covered, folded, span
from services.reading.language.language import Language

# Where an item is named: first token, end, skus, words.
_Spot = tuple[int, int, tuple[str, ...], str]


@dataclass(frozen=True, slots=True)
class Place:
    """One place that names an item; all ranges are token positions [start, end).

    `region` is where its values may be looked for, `own` the part of it that belongs to no other place;
    `first` and `last` bound the name itself.
    """

    items: tuple[str, ...]
    anchor: str
    first: int
    last: int
    region: tuple[int, int]
    own: tuple[int, int]
    menu: Menu

    @property
    def offered(self) -> set[str]:
        """Groups of options that its items come with."""
        return _groups(self.menu, self.items)


def find_places(chart: Chart) -> tuple[list[Place], bool]:
    """Places in the order of the words, and whether one of them is as well a line as a choice of the line
    before or after ("a cola burger combo"). A number leads to its item, even where it is a size of it."""
    tokens, menu, mentions = chart.left, chart.menu, _said(chart)
    taken = covered(tokens, mentions)
    naming = [m for m in mentions if m.kind == "item"]
    spots = _spots(tokens, [m for m in naming if not _refers_back(m, naming, tokens.language)])
    ending = _ending(tokens, mentions)
    partings = [
        _listed(tokens, ending, one, other, menu) or _parting(tokens, taken, one[1], other[0])
        for one, other in pairwise(spots)
    ]
    places = []
    for i, (first, last, items, anchor) in enumerate(spots):
        after = spots[i + 1][0] if i + 1 < len(spots) else len(tokens)
        start, own_start = partings[i - 1] if i else (0, 0)
        own_end, end = partings[i] if i + 1 < len(spots) else (after, after)
        while end > last and tokens[end - 1].folded in tokens.language.conjunctions:
            end -= 1  # the "and" before the next item is nobody's
        places.append(Place(items, anchor, first, last, (start, end), (own_start, own_end), menu))
    torn = _run_together(places, chart.unsettled) or _in_pairs(tokens, mentions, places)
    return places, torn


def _said(chart: Chart) -> list[Span]:
    """The spans that stand, but for numbers that are taken as a size or choice."""
    return [m for m in chart.standing if m.rule != "so_many_pieces"]


def _ending(tokens: Utterance, mentions: list[Span]) -> dict[tuple[str, int], tuple[int, Span]]:
    """By kind and the token where it ends, each mention with its first token; of two, the last."""
    spans = ((span(tokens, m), m) for m in mentions)
    return {(m.kind, last): (first, m) for (first, last), m in spans}


def _listed(
    tokens: Utterance,
    ending: dict[tuple[str, int], tuple[int, Span]],
    one: _Spot,
    other: _Spot,
    menu: Menu,
) -> tuple[int, int] | None:
    """Where the words between two items part when the last of a list stands before the size of the next:
    "tuna with lettuce and mayo six inch ham". It is the first item's, or either's where both come with it;
    None for any other words."""
    at = other[0]
    while ("size", at) in ending:
        at, _ = ending["size", at]
    if at == other[0] or ("option", at) not in ending:
        return None
    opens, last = ending["option", at]
    joint = opens - 1
    listing = joint > one[1] and tokens[joint].folded in tokens.language.conjunctions
    if not listing or ("option", joint) not in ending:
        return None
    of_one, of_other = (not _groups(menu, spot[2]).isdisjoint(last.groups) for spot in (one, other))
    if not of_one:
        return None
    return (joint, at) if of_other else (at, at)


def _groups(menu: Menu, skus: tuple[str, ...]) -> set[str]:
    """Groups of options that any of the items comes with."""
    return {group for item in menu.items if item.sku in skus for group in item.option_groups}


def _run_together(places: list[Place], mentions: Iterable[Span]) -> bool:
    """Whether a line may be a choice of the one right after it: "a cola burger combo"."""
    for one, other in pairwise(places):
        choices = {g for m in mentions if m.kind == "option" and m.text == one.anchor for g in m.groups}
        if one.last == other.first and choices & other.offered:
            return True
    return False


def _in_pairs(tokens: Utterance, mentions: list[Span], places: list[Place]) -> bool:
    """Whether options may go with the item before each or after: "ham and cheddar turkey and swiss"."""
    ends = {span(tokens, m)[0]: span(tokens, m)[1] for m in mentions if m.kind == "option"}

    def joined(place: Place) -> bool:
        last = place.last
        return last < len(tokens) and tokens[last].folded in tokens.language.conjunctions and last + 1 in ends

    return any(
        joined(one) and joined(other) and ends[one.last + 1] == other.first for one, other in pairwise(places)
    )


def _spots(tokens: Utterance, items: list[Span]) -> list[_Spot]:
    """Item mentions by place, overlapping ones as one."""
    spots: list[_Spot] = []
    for mention in sorted(items, key=lambda m: (m.start, -m.end)):
        first, last = span(tokens, mention)
        if spots and first < spots[-1][1]:
            known = spots[-1]
            spots[-1] = (known[0], known[1], tuple(dict.fromkeys((*known[2], *mention.ids))), known[3])
        else:
            spots.append((first, last, mention.ids, mention.text))
    return spots


def _parting(tokens: Utterance, taken: set[int], start: int, end: int) -> tuple[int, int]:
    """Where the words between two items part: those before the first position belong to the item before,
    those from the second on lead to the next, and between the two they may be either's; all of them when
    nothing parts [start, end).

    An article or number opens the next item ("... and a mocha"). After it an "and" or a comma leaves open
    which: "a mushroom and onion pizza" is one pizza, "a splash of milk, muffins" are two wishes.
    """
    article = None
    joint = start if start > 0 and tokens[start - 1].after else None
    for i in range(start, end):
        if i not in taken and _leads(tokens, i, end):
            article = i if _opens_item(tokens, i) else article
        elif i not in taken and tokens[i].folded in tokens.language.conjunctions:
            joint = i
        if tokens[i].after:
            joint = i + 1
    if article is not None and joint is not None and article < joint:
        return article, joint
    at = joint if article is None else article
    return (start, end) if at is None else (at, at)


def _leads(tokens: Utterance, at: int, end: int) -> bool:
    """Whether an article or a number leads to a thing, and not to its measure: "a splash of milk", "a lot of
    foam"."""
    word, language = tokens[at].folded, tokens.language
    leads = word in language.indefinite_articles or (word.isdigit() and not tokens[at].after)
    return leads and not (at + 1 < end and tokens[at + 1].folded in language.measuring)


def _opens_item(tokens: Utterance, at: int) -> bool:
    """Whether what leads to a thing leads to a new item: not so in "half a dozen", "on a brioche bun"."""
    return tokens[at - 1].folded not in tokens.language.before_own


def _refers_back(mention: Span, items: list[Span], language: Language) -> bool:
    """Whether it only says again a part of a name said before: "no pickles on the burger"."""
    words = set(folded(mention.text, language))
    return not mention.strong and any(
        other.strong and other.end <= mention.start and words <= set(folded(other.text, language))
        for other in items
    )
