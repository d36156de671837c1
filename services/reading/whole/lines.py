"""Lines: what may be said of the item at one place, from the words that are its own.

What was plainly said of one line and nothing else is required of it. Where words take back or share out in a
way that no rule reads, every value is open for every line, and the model decides.
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.cart import MAX_QUANTITY
from schemas.evidence import LineEvidence, Mention, OptionEvidence
from services.reading.chart.tokens import Token, span
from services.reading.language.english import AND, PIECES
from services.reading.values.amounts import options_heard
from services.reading.values.numbers import Number, is_plural
from services.reading.whole.places import Place
from services.reading.whole.reading import Reading
from services.reading.whole.splits import Part

_POLITE = frozenset("please thank thanks".split())


def lines_of(text: str, reading: Reading, place: Place, *, odd: list[int], sure: bool) -> list[LineEvidence]:
    """The lines that the item at `place` may give. `odd` are positions of words that nothing accounts for:
    beside one of them an item that was named whole stays ("a pumpkin spice latte"), and the word is a doubt.
    Nothing need be ordered when the order as a whole is not `sure`."""
    named = [m for m in reading.mentions if m.kind == "item" and place.anchor == m.text]
    whole = any(m.strong and not m.guessed for m in named)
    required = whole and sure and reading.plain
    if reading.plain and (split := reading.splits.get(place.first)):
        return [_part(text, reading, place, part, required=required) for part in split]
    return [_line(text, reading, place, odd=set(odd), required=required)]


def _part(text: str, reading: Reading, place: Place, part: Part, *, required: bool) -> LineEvidence:
    """One of several lines that the words tell apart; nothing about it is left open."""
    uncounted = [n for n in reading.numbers if n.start not in part.openers]
    menu = place.menu
    options, _ = options_heard(reading.tokens, list(part.mentions), reading.mentions, uncounted, menu)
    named = _said_of_it_alone(part.mentions, place)
    sizes = _sizes([m for m in part.mentions if m.kind == "size"])
    return LineEvidence(
        items=place.items,
        region=_words(text, reading, place.region),
        anchor=place.anchor,
        quantities=(part.quantity,),
        sizes=sizes,
        size_required=len(sizes) == 1,
        options=tuple(o.model_copy(update={"required": (o.group, o.id) in named}) for o in options),
        required=required,
    )


def _line(text: str, reading: Reading, place: Place, *, odd: set[int], required: bool) -> LineEvidence:
    local, tokens = reading.plain, reading.tokens
    sure_start, sure_end = place.own
    start, end = place.region if local else (0, len(tokens))

    def within(low: int, high: int) -> list[Mention]:
        said = [m for m in reading.mentions if low <= span(tokens, m)[0] and span(tokens, m)[1] <= high]
        return [*(m for m in said if m not in reading.everywhere), *reading.everywhere]

    here, own = within(start, end), within(sure_start, sure_end)
    # A size of its own is meant before one that was said of all.
    sizes = [m for m in here if m.kind == "size" and m not in reading.everywhere] or [
        m for m in reading.everywhere if m.kind == "size"
    ]
    own_sizes = [m for m in own if m in sizes]
    options, counting = options_heard(tokens, here, reading.mentions, reading.numbers, place.menu)
    # "Two burritos, a latte": what the number counts is not on the menu.
    counting |= {n for n in reading.numbers if n.end in odd}
    counted = [n for n in reading.numbers if start <= n.start and n.end <= end and n not in counting]
    several = len(own_sizes) > 1 or len([n for n in counted if n.likely]) > 1
    sure = local and not reading.parted and not several
    if sure:
        # "A hot dog and a mocha": beside an unknown word it may be part of another name.
        clear = [m for m in own if not {span(tokens, m)[0] - 1, span(tokens, m)[1]} & odd]
        named = _said_of_it_alone(clear, place)
        options = [o.model_copy(update={"required": (o.group, o.id) in named}) for o in options]
    options = _either(options, own, local=local)
    # "A six pack of muffins" is one, though they are named so.
    packs = {t.folded for m in own_sizes for t in tokens[slice(*span(tokens, m))]} & PIECES
    several_unsaid = not (counted or packs) and any(
        is_plural(m, place.menu) for m in reading.mentions if m.kind == "item" and m.text == place.anchor
    )
    return LineEvidence(
        items=place.items,
        region=_words(text, reading, (start, end)),
        anchor=place.anchor,
        quantities=_quantities(tokens, counted, place, reading.more.get(place.first, 0), sure=sure),
        sizes=_sizes(sizes),
        size_required=sure and len(own_sizes) == 1 and len(sizes) == 1,
        options=tuple(options),
        # Two sizes or numbers said of one item split it, unless one took the other back.
        copies=max(1 + reading.parted, len(own_sizes), len(counted)) if local and not sure else 1,
        required=required,
        # "Lattes, please": how many?
        stray=several_unsaid or _stray(own, reading.everywhere, place),
    )


def _closes(tokens: Sequence[Token], number: Number) -> bool:
    """Whether what a number counts ends with it: nothing that it might lead to follows."""
    if number.end == len(tokens) or tokens[number.end - 1].after:
        return True
    return tokens[number.end].folded in AND or tokens[number.end].folded in _POLITE


def _quantities(
    tokens: Sequence[Token], counted: list[Number], place: Place, more: int, *, sure: bool
) -> tuple[int, ...]:
    """A single number right before the item is its quantity; else it may be. `more` were added later."""
    likely = [n for n in counted if n.likely and n.value <= MAX_QUANTITY]
    if sure and len(likely) == 1 and place.own[0] <= likely[0].start < place.last:
        return (likely[0].value + more,)
    if (
        sure
        and len(likely) == 1
        and not more
        and likely[0].start == place.last
        and _closes(tokens, likely[0])
    ):
        return (likely[0].value,)  # "burgers, two. Tots, one"
    if sure and more and all(n.value == 1 for n in counted):
        return (1 + more,)
    return tuple(sorted({1, *(n.value for n in counted if n.value <= MAX_QUANTITY)}))


def _either(options: list[OptionEvidence], own: list[Mention], *, local: bool) -> list[OptionEvidence]:
    """Mark options whose words may as well belong to the line beside."""
    mine = {pair for m in own if m.kind == "option" for pair in zip(m.groups, m.ids, strict=True)}
    return [o.model_copy(update={"either": local and (o.group, o.id) not in mine}) for o in options]


def _stray(own: list[Mention], everywhere: list[Mention], place: Place) -> bool:
    """Whether something was asked of this item that it does not come with ("a muffin with oat milk")."""
    offered = place.offered
    said = [m for m in own if m.kind == "option" and m.strong and m not in everywhere]
    return any(not offered & set(m.groups) for m in said)


def _sizes(mentions: list[Mention]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for m in mentions for ref in m.ids))


def _words(text: str, reading: Reading, region: tuple[int, int]) -> str:
    first, last = reading.tokens[region[0]], reading.tokens[region[1] - 1]
    # Whole words as they are written: "[2J" is one, though its bracket is no part of the name.
    start, end = text.rfind(" ", 0, first.start) + 1, text.find(" ", last.end)
    return text[start:] if end < 0 else text[start:end]


def _said_of_it_alone(own: Sequence[Mention], place: Place) -> set[tuple[str, str]]:
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
