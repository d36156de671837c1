"""Reading: what a transcript names and counts, after what was taken back is struck out, before any line is
made of it."""

from __future__ import annotations

import re
from dataclasses import dataclass

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.tokens import Utterance, covered, span
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
    said, heard = _named(text, menu)
    revised = revise(said, heard, menu)
    tokens, mentions = (said, heard) if revised is None else revised
    places, mentions, torn = find_places(tokens, mentions, menu)
    numbers = list(find_numbers(tokens, covered(tokens, mentions), mentions, menu))
    numbers, packs = pieces(tokens, numbers, mentions, menu)
    mentions = sorted([*mentions, *packs], key=lambda m: (m.start, m.end))
    more = again(tokens, mentions, places)
    of_all = shared(tokens, mentions)
    everywhere = of_all or []
    told_apart = {place.first: parts(tokens, mentions, numbers, place, everywhere) for place in places}
    splits = {first: found for first, found in told_apart.items() if found}
    words = _Words(text, tokens, mentions, numbers, places)
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
        shared=torn or words.share(packs, unread=of_all is None) or words.tell_of_another_line(),
        more=more or {},
        likewise=more is None,
        parted=not splits and not more and _outside(tokens.language.parted, text, mentions),
    )


def _named(text: str, menu: Menu) -> tuple[Utterance, list[Mention]]:
    """The words of a transcript, and the mentions of what the menu offers."""
    names = lexicon(menu)
    tokens = names.heard(text)
    named = with_sorts(text, tokens, names.find(text, tokens), names.of_sort) if tokens else []
    return tokens, offered(with_implied(tokens, named, menu, names.items, names.of_sort), menu)


@dataclass(frozen=True, slots=True)
class _Words:
    """The words that are left of an order, and what they name and count: whether they say anything of several
    lines that no rule reads."""

    text: str
    tokens: Utterance
    mentions: list[Mention]
    numbers: list[Number]
    places: list[Place]

    def share(self, packs: list[Mention], *, unread: bool) -> bool:
        """Whether the words may share something out: a word of sharing that stays `unread`, numbers that may
        be of kinds of one item, or "six wings", which `packs` reads as one six piece, and which may be six of
        them."""
        if unread and _outside(self.tokens.language.shared, self.text, self.mentions):
            return True
        return summed(self.tokens, self.numbers, self.places) or any(m.kind == "option" for m in packs)

    def tell_of_another_line(self) -> bool:
        """Whether a line is told by another, by its name or by whose it is."""
        language, lines = self.tokens.language, len(self.places)
        if lines < 2 and all(number.value == 1 for number in self.numbers):
            return False  # there is one line, of one thing
        if _outside(language.likewise, self.text, self.mentions):
            return True
        if lines == 1:
            return _outside(language.for_whom, self.text, self.mentions)
        return lines > 1 and self._name_again()

    def _name_again(self) -> bool:
        """ "Extra pickles only on the fish" speaks of one of several lines by a part of its name."""
        named = (span(self.tokens, m)[0] for m in self.mentions if m.kind == "item")
        return any(not any(place.first <= at < place.last for place in self.places) for at in named)


def _outside(words: re.Pattern[str], text: str, mentions: list[Mention]) -> bool:
    """Whether such words are said outside any name."""
    rest = list(text)
    for mention in mentions:
        rest[mention.start : mention.end] = "_" * (mention.end - mention.start)
    return words.search("".join(rest)) is not None
