"""Retrieve: transcript + menu -> evidence, the only values that this order's mask will open.

Each place that names an item becomes a line that may be decoded, with what was said around it: the words
up to the last joint ("and", a comma) before the next item are its own. A value is opened where there are
words for it; what was plainly said of one line and nothing else is required of it. Words that take back
("no, make that") or share out ("all with oat milk") open every value for every line again, and leave the
decision to the model. `not_on_menu` is always open, so that nothing is forced.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

import jellyfish

from schemas.cart import MAX_LINES, MAX_QUANTITY
from schemas.evidence import Evidence, LineEvidence, Mention
from schemas.menu import Menu
from schemas.writable import writable
from services.pipeline.english import AMOUNTS, ASKED, ASKING, FILLERS, NUMBERS
from services.pipeline.lines import lines_of
from services.pipeline.mentions import SENTENCE_ENDS, Token, span, tokenize
from services.pipeline.quantifiers import BETWEEN_COUNT, names_something
from services.pipeline.reading import Reading, read
from services.pipeline.sharing import repeated
from services.pipeline.weighing import weighs

# Lines off the menu that one order may have; more are a conversation, not an order.
_OFF_MENU_LINES = 3
_ASKED_CHARS = 40
_FILLER_SOUNDS = {jellyfish.metaphone(word) for word in FILLERS if len(word) > 3}


def clean(transcript: str) -> str:
    """One line, single spaces, no control characters: what the prompt shows and `heard` copies from.

    Nor what a model can't write back (`schemas/writable.py`).
    """
    plain = re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff]", " ", transcript)
    return " ".join(writable(plain).split())


def retrieve(transcript: str, menu: Menu, menu_version: int) -> Evidence:
    """Evidence of one transcript; pure, about 2 ms on a 40-item menu."""
    text = clean(transcript)
    reading = read(text, menu, menu_version)
    # What was only guessed at stays unexplained: a guess never spares the review.
    odd = _unexplained(text, reading, menu)
    clusters = list(_clusters(odd))[:_OFF_MENU_LINES]
    room = MAX_LINES - max(1, len(clusters))
    crowded = sum(len(reading.splits.get(place.first, "1")) for place in reading.places) > room
    asked = _asked(text, reading.tokens, reading.mentions)
    weighed = weighs(text, reading.tokens, reading.mentions)
    lines = tuple(
        line
        for place in reading.places[:room]
        for line in lines_of(text, reading, place, odd=odd, sure=not (asked or crowded or weighed))
    )
    said = sorted({1, *(n.value for n in reading.numbers if n.value <= MAX_QUANTITY)})
    return Evidence(
        transcript=text,
        menu=menu,
        menu_version=menu_version,
        lines=_fitting(lines, room),
        off_menu=tuple(text[reading.tokens[i].start : reading.tokens[i].end] for i in clusters),
        off_menu_quantities=tuple(said),
        mentions=tuple(reading.mentions),
        numbers=tuple(n.value for n in reading.numbers if n.likely),
        corrected=reading.corrected,
        shared=reading.shared or reading.parted,
        unexplained=tuple(text[reading.tokens[i].start : reading.tokens[i].end] for i in odd),
        asked=asked,
        weighed=weighed,
        crowded=crowded,
        likewise=reading.likewise,
        repeated=repeated(reading.tokens, reading.mentions, reading.places),
    )


def _asked(text: str, tokens: list[Token], mentions: list[Mention]) -> bool:
    """Whether something of the menu was asked about, and not ordered yet ("do you have croissants?")."""
    ends = [match.end() for match in ASKED.finditer(text)]
    if any(end <= m.start <= end + _ASKED_CHARS for end in ends for m in mentions):
        return True
    start = 0
    for i, token in enumerate(tokens):
        if token.after not in SENTENCE_ENDS:
            continue
        named = any(tokens[start].start <= m.start < token.end for m in mentions if m.kind == "item")
        if token.after == "?" and tokens[start].folded in ASKING and named:
            return True
        start = i + 1
    return False


def _clusters(odd: list[int]) -> Iterator[int]:
    """The first of each run of words that nothing accounts for; a word between two of a run may be known."""
    last = -3
    for i in odd:
        if i - last > 2:
            yield i
        last = i


def _fitting(lines: tuple[LineEvidence, ...], room: int) -> tuple[LineEvidence, ...]:
    """Give up copies, last first, where lines would be more than a cart may hold."""
    fitted = list(lines)
    over = sum(line.copies for line in fitted) - room
    for i in reversed(range(len(fitted))):
        give = min(max(over, 0), fitted[i].copies - 1)
        fitted[i] = fitted[i].model_copy(update={"copies": fitted[i].copies - give})
        over -= give
    return tuple(fitted)


def _unexplained(text: str, reading: Reading, menu: Menu) -> list[int]:
    """Positions of words that are no name, number, amount, correction or filler: perhaps a wish that was
    misheard. Names of categories and groups ("tea", "syrup") say nothing new beside what they belong to."""
    tokens = reading.tokens
    sure = {i for m in reading.mentions if not m.guessed for i in range(*span(tokens, m))}
    kinds = [item.category for item in menu.items] + [group.name for group in menu.option_groups]
    generic = {token.folded for kind in set(kinds) for token in tokenize(kind)}
    counted = {i for n in reading.numbers for i in range(n.start, n.end)}
    odd = []
    for i, token in enumerate(tokens):
        plain = text[token.start : token.end].casefold().replace("'", "").replace("’", "")
        known = {token.folded, plain} & (FILLERS | AMOUNTS.keys() | NUMBERS.keys() | BETWEEN_COUNT | generic)
        # "Brue me a coffee": the first word is a verb more often than a wish.
        verb = i == 0 and jellyfish.metaphone(plain) in _FILLER_SOUNDS
        if i not in sure and i not in counted and (not known or names_something(tokens, i)) and not verb:
            odd.append(i)
    return odd
