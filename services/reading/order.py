"""Retrieve: transcript + menu -> evidence, the only values that this order's mask will open.

Each place that names an item becomes a line that may be decoded, with what was said around it: the words
up to the last joint ("and", a comma) before the next item are its own. A value is opened where there are
words for it; what was plainly said of one line and nothing else is required of it. Words that take back
("no, make that") or share out ("all with oat milk") open every value for every line again, and leave the
decision to the model. `not_on_menu` is always open, so that nothing is forced.
"""

from __future__ import annotations

from collections.abc import Iterator

from schemas.cart import MAX_LINES, MAX_QUANTITY
from schemas.evidence import Evidence, LineEvidence, OffMenuEvidence, SaidNumber
from schemas.menu import Menu
from schemas.writable import one_line, writable
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, sentences
from services.reading.effort import ORDER_STEPS, budget
from services.reading.names.lexicons import lexicon
from services.reading.passes import understood
from services.reading.whole.lines import lines_of
from services.reading.whole.own_words import with_words
from services.reading.whole.reading import read
from services.reading.whole.sharing import repeated
from services.reading.whole.unexplained import answered, unexplained
from services.reading.whole.weighing import weighs

# Lines off the menu that one order may have; more are a conversation, not an order.
_OFF_MENU_LINES = 3
_ASKED_CHARS = 40


def clean(transcript: str) -> str:
    """One line, single spaces, no control or invisible signs: what the prompt shows and `heard` copies from.

    Nor what a model can't write back (`schemas/writable.py`).
    """
    return " ".join(writable(one_line(transcript)).split())


def read_order(transcript: str, menu: Menu, menu_version: int) -> Evidence:
    """Evidence of one transcript; pure, about 3 ms on a 40-item menu.

    Raises:
        TooMuchToRead: the words over this menu are past `ORDER_STEPS`, or the menu's names past `MENU_STEPS`.
        UnknownLanguage: the menu is in a language that has no words of ordering here.
    """
    with budget(ORDER_STEPS, "these words over this menu"):
        return _retrieved(clean(transcript), menu, menu_version)


def _retrieved(text: str, menu: Menu, menu_version: int) -> Evidence:
    reading = read(understood(text, menu))
    # What was only guessed at stays unexplained: a guess never spares the review.
    names = lexicon(menu)
    odd = unexplained(text, reading.left, reading.standing, reading.numbers, names)
    clusters = list(_clusters(odd))[:_OFF_MENU_LINES]
    room = MAX_LINES - max(1, len(clusters))
    crowded = sum(max(len(reading.splits.get(place.first, ())), 1) for place in reading.places) > room
    asked = _asked(text, reading.left, reading.standing)
    weighed = weighs(text, reading.left, reading.standing)
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
            OffMenuEvidence(words=text[reading.left[i].start : reading.left[i].end], quantities=tuple(said))
            for i in clusters
        ),
        off_menu_quantities=tuple(said),
        mentions=tuple(span.mention() for span in reading.standing),
        numbers=tuple(_placed(reading.left, n) for n in reading.numbers if n.likely),
        corrected=reading.chart.corrected,
        shared=reading.shared or reading.parted,
        unexplained=tuple(text[reading.left[i].start : reading.left[i].end] for i in odd),
        asked=asked,
        weighed=weighed,
        crowded=crowded,
        likewise=reading.likewise,
        repeated=repeated(reading.left, reading.standing, reading.places),
    )
    return with_words(evidence)


def _placed(tokens: Utterance, number: Number) -> SaidNumber:
    start, end = tokens[number.start].start, tokens[number.end - 1].end
    return SaidNumber(value=number.value, start=start, end=end)


def _asked(text: str, tokens: Utterance, mentions: list[Span]) -> bool:
    """Whether something of the menu was asked about, and not ordered yet ("do you have croissants?")."""
    idle = answered(text, tokens, mentions)
    ends = [
        m.end() for m in tokens.language.asked.finditer(text) if not any(a <= m.start() < b for a, b in idle)
    ]
    if any(end <= m.start <= end + _ASKED_CHARS for end in ends for m in mentions):
        return True
    return any(
        said[-1].after == "?"
        and said[0].folded in tokens.language.asking
        and any(m.kind == "item" and said[0].start <= m.start < said[-1].end for m in mentions)
        for said in sentences(tokens)
    )


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
