"""Lines: what may be said of the item at one place, from the words that are its own.

What was plainly said of one line and nothing else is required of it. Where words take back or share out in a
way that no rule reads, every value is open for every line, and the model decides.
"""

from __future__ import annotations

from schemas.evidence import LineEvidence, OptionEvidence
from services.reading.chart.span import Span
from services.reading.values.amounts import options_heard
from services.reading.whole.line_words import LineWords, requiring, said_of_it_alone, words_of
from services.reading.whole.places import Place
from services.reading.whole.reading import Reading
from services.reading.whole.splits import Part


def lines_of(text: str, reading: Reading, place: Place, *, odd: list[int], sure: bool) -> list[LineEvidence]:
    """The lines that the item at `place` may give. `odd` are positions of words that nothing accounts for:
    beside one of them an item that was named whole stays ("a pumpkin spice latte"), and the word is a doubt.
    Nothing need be ordered when the order as a whole is not `sure`."""
    named = [m for m in reading.standing if m.kind == "item" and place.anchor == m.text]
    whole = any(m.strong and not m.guessed for m in named)
    required = whole and sure and reading.plain
    if reading.plain and (split := reading.splits.get(place.first)):
        return [_part(text, reading, place, part, required=required) for part in split]
    return [_line(text, words_of(reading, place, set(odd)), required=required)]


def _part(text: str, reading: Reading, place: Place, part: Part, *, required: bool) -> LineEvidence:
    """One of several lines that the words tell apart; nothing about it is left open."""
    uncounted = [n for n in reading.numbers if n.start not in part.openers]
    menu = place.menu
    options, _ = options_heard(reading.left, list(part.mentions), reading.standing, uncounted, menu)
    named = said_of_it_alone(part.mentions, place)
    sizes = _ids([m for m in part.mentions if m.kind == "size"])
    return LineEvidence(
        items=place.items,
        region=_written(text, reading, place.region),
        anchor=place.anchor,
        quantities=(part.quantity,),
        sizes=sizes,
        size_required=len(sizes) == 1,
        options=tuple(requiring(options, named)),
        required=required,
    )


def _line(text: str, words: LineWords, *, required: bool) -> LineEvidence:
    """What the item may be, as one line or, where several are likely, as copies of it."""
    reading, place = words.reading, words.place
    sizes = words.sizes
    return LineEvidence(
        items=place.items,
        region=_written(text, reading, (words.start, words.end)),
        anchor=place.anchor,
        quantities=words.quantities(),
        sizes=_ids(sizes),
        size_required=words.is_sure and len(words.own_sizes) == len(sizes) == 1,
        options=tuple(_either(words.told_options(), words.own, local=reading.plain)),
        copies=words.copies(),
        required=required,
        stray=words.is_stray(),
    )


def _either(options: list[OptionEvidence], own: list[Span], *, local: bool) -> list[OptionEvidence]:
    """Mark options whose words may as well belong to the line beside."""
    mine = {pair for m in own if m.kind == "option" for pair in zip(m.groups, m.ids, strict=True)}
    return [o.model_copy(update={"either": local and (o.group, o.id) not in mine}) for o in options]


def _ids(mentions: list[Span]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(ref for m in mentions for ref in m.ids))


def _written(text: str, reading: Reading, region: tuple[int, int]) -> str:
    first, last = reading.left[region[0]], reading.left[region[1] - 1]
    # Whole words as they are written: "[2J" is one, though its bracket is no part of the name.
    start, end = text.rfind(" ", 0, first.start) + 1, text.find(" ", last.end)
    return text[start:] if end < 0 else text[start:end]
