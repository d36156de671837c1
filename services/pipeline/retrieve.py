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
from schemas.evidence import Evidence, LineEvidence, Mention, OffMenuEvidence
from schemas.menu import Menu
from schemas.writable import writable
from services.pipeline.english import AMOUNTS, AND, ASKED, ASKING, FILLERS, NUMBERS, PERSONS, POINTING
from services.pipeline.lines import lines_of
from services.pipeline.quantifiers import BETWEEN_COUNT, Number, find_numbers, names_something
from services.pipeline.reading import lexicon, read
from services.pipeline.retelling import retell
from services.pipeline.sharing import repeated
from services.pipeline.weighing import weighs
from services.pipeline.words import SENTENCE_ENDS, Token, covered

# Lines off the menu that one order may have; more are a conversation, not an order.
_OFF_MENU_LINES = 3
_ASKED_CHARS = 40
# "With me", "with that": nothing is wished for beside an item.
_COMPANY = (
    PERSONS
    | AMOUNTS.keys()
    | frozenset("me us him her them that it this these those my our your both each all 1".split())
)
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
    generic = lexicon(menu, menu_version).generic
    odd = _unexplained(text, reading.tokens, reading.mentions, reading.numbers, generic)
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
    evidence = Evidence(
        transcript=text,
        menu=menu,
        menu_version=menu_version,
        lines=_fitting(lines, room),
        off_menu=tuple(
            OffMenuEvidence(
                words=text[reading.tokens[i].start : reading.tokens[i].end], quantities=tuple(said)
            )
            for i in clusters
        ),
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
    numbers = list(find_numbers(reading.said, covered(reading.said, reading.heard), reading.heard, menu))
    return retell(evidence, reading, _unexplained(text, reading.said, reading.heard, numbers, generic))


def _asked(text: str, tokens: list[Token], mentions: list[Mention]) -> bool:
    """Whether something of the menu was asked about, and not ordered yet ("do you have croissants?")."""
    idle = _answered(text, tokens, mentions)
    ends = [m.end() for m in ASKED.finditer(text) if not any(a <= m.start() < b for a, b in idle)]
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


def _answered(text: str, tokens: list[Token], mentions: list[Mention]) -> list[tuple[int, int]]:
    """Where the words [start, end) ask about something that is not on the menu, and order nothing of it:
    "do you have calzones? No? Then a large Hawaiian"."""
    found, start = [], 0
    for i, token in enumerate(tokens):
        if token.after not in SENTENCE_ENDS:
            continue
        span = tokens[start].start, token.end
        named = any(span[0] <= m.start < span[1] for m in mentions)
        pointed = any(t.folded in POINTING for t in tokens[i + 1 :])
        if token.after == "?" and ASKED.search(text, *span) and not named and not pointed:
            found.append(span)
        start = i + 1
    return found


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


def _unexplained(
    text: str, tokens: list[Token], mentions: list[Mention], numbers: list[Number], generic: frozenset[str]
) -> list[int]:
    """Positions of words that are no name, number, amount, correction or filler: perhaps a wish that was
    misheard. Names of categories and groups ("tea", "syrup") say nothing new beside what they belong to."""
    sure = covered(tokens, [m for m in mentions if not m.guessed])
    counted = {i for n in numbers for i in range(n.start, n.end)}
    idle = _answered(text, tokens, mentions)
    odd = []
    for i, token in enumerate(tokens):
        plain = text[token.start : token.end].casefold().replace("'", "").replace("’", "")
        known = {token.folded, plain} & (FILLERS | AMOUNTS.keys() | NUMBERS.keys() | BETWEEN_COUNT | generic)
        # "Brue me a coffee": the first word is a verb more often than a wish.
        verb = i == 0 and jellyfish.metaphone(plain) in _FILLER_SOUNDS
        if i in sure or i in counted or verb or any(a <= token.start < b for a, b in idle):
            continue
        dangling = token.folded == "with" and _leads_nowhere(tokens, i, sure | counted)
        if not known or names_something(tokens, i) or dangling:
            odd.append(i)
    return odd


def _leads_nowhere(tokens: list[Token], at: int, known: set[int]) -> bool:
    """Whether a "with" is followed by little words alone: "with may oh" was perhaps a wish."""
    for i in range(at + 1, len(tokens)):
        if i in known or tokens[i].folded in _COMPANY or tokens[i].folded not in FILLERS:
            return False
        if tokens[i].after or tokens[i].folded in AND:
            break
    return at + 1 < len(tokens) and not tokens[at].after
