"""Retrieve: transcript + menu -> evidence, the only values that this order's mask will open.

Each place that names an item becomes a line that may be decoded, with what was said around it: the words
up to the last joint ("and", a comma) before the next item are its own. A value is opened where there are
words for it; what was plainly said of one line and nothing else is required of it. Words that take back
("no, make that") or share out ("all with oat milk") open every value for every line again, and leave the
decision to the model. `not_on_menu` is always open, so that nothing is forced.
"""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator

import jellyfish

from schemas.cart import MAX_LINES, MAX_QUANTITY
from schemas.evidence import Evidence, LineEvidence, Mention
from schemas.menu import Menu
from services.pipeline.english import AMOUNTS, CORRECTIONS, FILLERS, NUMBERS, PARTED, SHARED
from services.pipeline.mentions import Lexicon, Token, span, tokenize
from services.pipeline.places import Place, find_places
from services.pipeline.quantifiers import BETWEEN_COUNT, Number, find_numbers, options_heard

_LEXICONS: OrderedDict[tuple[str, int], tuple[Menu, Lexicon]] = OrderedDict()
_LEXICONS_KEPT = 16
# Lines off the menu that one order may have; more are a conversation, not an order.
_OFF_MENU_LINES = 3
_FILLER_SOUNDS = {jellyfish.metaphone(word) for word in FILLERS if len(word) > 3}


def clean(transcript: str) -> str:
    """One line, single spaces, no control characters: what the prompt shows and `heard` copies from."""
    return " ".join(re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", " ", transcript).split())


def retrieve(transcript: str, menu: Menu, menu_version: int) -> Evidence:
    """Evidence of one transcript; pure, about 2 ms on a 40-item menu."""
    text = clean(transcript)
    tokens = tokenize(text)
    mentions = lexicon(menu, menu_version).find(text, tokens) if tokens else []
    places, mentions = find_places(tokens, mentions, menu)
    taken = {i for m in mentions for i in range(*span(tokens, m))}
    numbers = list(find_numbers(tokens, taken, mentions))
    corrections = tuple(match.start() for match in CORRECTIONS.finditer(text))
    shared = len(places) > 1 and _outside(SHARED, text, mentions)
    local = not corrections and not shared
    # What was only guessed at stays unexplained: a guess never spares the review.
    sure = {i for m in mentions if not m.guessed for i in range(*span(tokens, m))}
    unexplained = tuple(_unexplained(text, tokens, sure, numbers, menu))
    room = MAX_LINES - min(_OFF_MENU_LINES, max(1, len(unexplained)))
    parted = _outside(PARTED, text, mentions)
    lines = tuple(
        _line(text, tokens, mentions, numbers, place, local=local, parted=parted) for place in places[:room]
    )
    said = sorted({1, *(n.value for n in numbers if n.value <= MAX_QUANTITY)})
    return Evidence(
        transcript=text,
        menu=menu,
        menu_version=menu_version,
        lines=_fitting(lines, room),
        off_menu=unexplained,
        off_menu_quantities=tuple(said),
        off_menu_lines=MAX_LINES - room,
        mentions=tuple(mentions),
        numbers=tuple(n.value for n in numbers if n.likely),
        corrections=corrections,
        shared=shared,
        unexplained=unexplained,
    )


def lexicon(menu: Menu, version: int) -> Lexicon:
    """The menu version's lexicon, built once; the last few are kept."""
    key = (menu.id, version)
    known = _LEXICONS.get(key)
    if known is None or (known[0] is not menu and known[0] != menu):
        known = (menu, Lexicon(menu))
        _LEXICONS[key] = known
        while len(_LEXICONS) > _LEXICONS_KEPT:
            _LEXICONS.popitem(last=False)
    return known[1]


def _line(
    text: str,
    tokens: list[Token],
    mentions: list[Mention],
    numbers: list[Number],
    place: Place,
    *,
    local: bool,
    parted: bool,
) -> LineEvidence:
    """What may be said of the item at `place`: of its own words when `local`, else of the whole order. Words
    that part one item in several lines were said when `parted`."""
    sure_start, sure_end = place.own
    start, end = place.region if local else (0, len(tokens))
    here = [m for m in mentions if start <= span(tokens, m)[0] and span(tokens, m)[1] <= end]
    own = [m for m in here if sure_start <= span(tokens, m)[0] and span(tokens, m)[1] <= sure_end]
    sizes = [m for m in here if m.kind == "size"]
    own_sizes = [m for m in own if m.kind == "size"]
    options, counting = options_heard(tokens, here, mentions, numbers)
    counted = [n for n in numbers if start <= n.start and n.end <= end and n not in counting]
    sure = local and not parted and len(own_sizes) <= 1 and len([n for n in counted if n.likely]) <= 1
    if sure:
        named = _said_of_it_alone(own, place)
        options = [o.model_copy(update={"required": (o.group, o.id) in named}) for o in options]
    mine = {pair for m in own if m.kind == "option" for pair in zip(m.groups, m.ids, strict=True)}
    options = [o.model_copy(update={"either": local and (o.group, o.id) not in mine}) for o in options]
    own_numbers = [n for n in counted if n.likely and sure_start <= n.start and n.end <= sure_end]
    values = {n.value for n in counted if n.value <= MAX_QUANTITY}
    likely = [n for n in counted if n.likely and n.value <= MAX_QUANTITY]
    alone = sure and len(likely) == 1 and sure_start <= likely[0].start < place.last
    return LineEvidence(
        items=place.items,
        region=text[tokens[start].start : tokens[end - 1].end + len(tokens[end - 1].after)],
        anchor=place.anchor,
        quantities=(likely[0].value,) if alone else tuple(sorted({1, *values})),
        sizes=tuple(dict.fromkeys(ref for m in sizes for ref in m.ids)),
        size_required=sure and len(own_sizes) == 1 and len(sizes) == 1,
        options=tuple(options),
        # Two sizes or numbers said of one item split it, unless one took the other back.
        copies=max(1 + parted, len(own_sizes), len(counted)) if local and not sure else 1,
        last_size=own_sizes[-1].ids[0] if own_sizes else None,
        last_number=own_numbers[-1].value if own_numbers else None,
    )


def _outside(words: re.Pattern[str], text: str, mentions: list[Mention]) -> bool:
    """Whether such words are said outside any name."""
    rest = list(text)
    for mention in mentions:
        rest[mention.start : mention.end] = "_" * (mention.end - mention.start)
    return words.search("".join(rest)) is not None


def _said_of_it_alone(own: list[Mention], place: Place) -> set[tuple[str, str]]:
    """Options whose whole name was said here and that the item offers in one group; of a choose-one group
    only when no other of it was said."""
    offered = {g for item in place.menu.items if item.sku in place.items for g in item.option_groups}
    sure: set[tuple[str, str]] = set()
    for mention in own:
        readings = [r for r in zip(mention.groups, mention.ids, strict=False) if r[0] in offered]
        if mention.kind == "option" and mention.strong and len(readings) == 1:
            sure.add(readings[0])
    chosen = [group for group, _ in sure]
    single = {group.id for group in place.menu.option_groups if group.choose == "one"}
    return {(g, ref) for g, ref in sure if g not in single or chosen.count(g) == 1}


def _fitting(lines: tuple[LineEvidence, ...], room: int) -> tuple[LineEvidence, ...]:
    """Give up copies, last first, where lines would be more than a cart may hold."""
    fitted = list(lines)
    over = sum(line.copies for line in fitted) - room
    for i in reversed(range(len(fitted))):
        give = min(max(over, 0), fitted[i].copies - 1)
        fitted[i] = fitted[i].model_copy(update={"copies": fitted[i].copies - give})
        over -= give
    return tuple(fitted)


def _unexplained(
    text: str, tokens: list[Token], taken: set[int], numbers: list[Number], menu: Menu
) -> Iterator[str]:
    """Words that are no name, number, amount, correction or filler: perhaps a wish that was misheard.
    Names of categories and groups ("tea", "syrup") say nothing new beside what they belong to."""
    kinds = [item.category for item in menu.items] + [group.name for group in menu.option_groups]
    generic = {token.folded for kind in set(kinds) for token in tokenize(kind)}
    counted = {i for n in numbers for i in range(n.start, n.end)}
    for i, token in enumerate(tokens):
        spoken = text[token.start : token.end]
        plain = spoken.casefold().replace("'", "").replace("’", "")
        known = {token.folded, plain} & (FILLERS | AMOUNTS.keys() | NUMBERS.keys() | BETWEEN_COUNT | generic)
        # "Brue me a coffee": the first word is a verb more often than a wish.
        verb = i == 0 and jellyfish.metaphone(plain) in _FILLER_SOUNDS
        if i not in taken and i not in counted and not known and not verb:
            yield spoken
