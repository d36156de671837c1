"""Reading: what a transcript names and counts, after what was taken back is struck out, before any line is
made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.tokens import Utterance, covered, span
from services.reading.language.turns import FOR_WHOM, LIKEWISE, PARTED, SHARED
from services.reading.names.implied import with_implied
from services.reading.names.lexicons import lexicon
from services.reading.names.senses import offered
from services.reading.names.sorts import with_sorts
from services.reading.values.numbers import Number, find_numbers, pieces
from services.reading.whole.places import Place, find_places
from services.reading.whole.revisions import revise
from services.reading.whole.sharing import again, shared, summed
from services.reading.whole.splits import Part, parts


@dataclass(frozen=True, slots=True)
class Reading:
    """Words, names, numbers and places. `everywhere` is said of every line. By the first token of a place,
    `splits` holds the parts that its words tell apart and `more` how many more of it were wished for after.
    `said` and `heard` are all words and names, before anything was struck out.
    `corrected`, `shared`, `parted` and `likewise` tell of what no rule could read: it is left to the model,
    and a doubt."""

    said: Utterance
    heard: list[Mention]
    tokens: Utterance
    mentions: list[Mention]
    numbers: list[Number]
    places: list[Place]
    everywhere: list[Mention]
    splits: dict[int, list[Part]]
    corrected: bool
    shared: bool
    parted: bool
    more: dict[int, int]
    likewise: bool

    @property
    def plain(self) -> bool:
        """Whether each line's own words tell all about it."""
        return not self.corrected and not self.shared


def read(text: str, menu: Menu) -> Reading:
    """Read a clean transcript against a menu."""
    names = lexicon(menu)
    tokens = names.heard(text)
    named = with_sorts(text, tokens, names.find(text, tokens), names.of_sort) if tokens else []
    found = with_implied(tokens, named, menu, names.items, names.of_sort)
    mentions = offered(found, menu)
    said, heard = tokens, mentions
    revised = revise(tokens, mentions, menu)
    if revised is not None:
        tokens, mentions = revised
    places, mentions, torn = find_places(tokens, mentions, menu)
    taken = covered(tokens, mentions)
    numbers = list(find_numbers(tokens, taken, mentions, menu))
    numbers, sizes = pieces(tokens, numbers, mentions, menu)
    mentions = sorted([*mentions, *sizes], key=lambda m: (m.start, m.end))
    more = again(tokens, mentions, places)
    told = shared(tokens, mentions)
    everywhere = told or []
    told_apart = {place.first: parts(tokens, mentions, numbers, place, everywhere) for place in places}
    splits = {first: found for first, found in told_apart.items() if found}
    unclear = told is None and _outside(SHARED, text, mentions)
    # "Extra pickles only on the fish" speaks of one of several lines by a part of its name.
    backward = any(
        m.kind == "item" and not any(p.first <= span(tokens, m)[0] < p.last for p in places) for m in mentions
    )
    unclear = unclear or summed(tokens, numbers, places)
    unclear = unclear or any(m.kind == "option" for m in sizes)  # "six wings": one six piece, or six of them
    several = len(places) > 1 or any(number.value > 1 for number in numbers)
    likewise = several and _outside(LIKEWISE, text, mentions)
    whose = several and len(places) == 1 and _outside(FOR_WHOM, text, mentions)
    unclear = unclear or torn or likewise or whose or (len(places) > 1 and backward)
    return Reading(
        said=said,
        heard=heard,
        tokens=tokens,
        mentions=mentions,
        numbers=numbers,
        places=places,
        everywhere=everywhere,
        splits=splits,
        corrected=revised is None,
        shared=unclear,
        more=more or {},
        likewise=more is None,
        parted=not splits and not more and _outside(PARTED, text, mentions),
    )


def _outside(words: re.Pattern[str], text: str, mentions: list[Mention]) -> bool:
    """Whether such words are said outside any name."""
    rest = list(text)
    for mention in mentions:
        rest[mention.start : mention.end] = "_" * (mention.end - mention.start)
    return words.search("".join(rest)) is not None
