"""Which names of the menu the words may mean, which numbers were said, and which words nothing explains.

Lexical only: a name is found because its words were said (whole, or in part), or because what was said sounds
like it. Nothing is decided about the order; that is the decoder's. Names that were said whole come first and
hide what is inside them: "hot peppers" is not "peppers", and "cheese" alone is not "mozzarella cheese".

Cost: 0.3 ms for 20 words on a menu of 60 items, some 20 ms on one of 10,000.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import jellyfish
from rapidfuzz import fuzz, process

from services.retrieval.names import NUMBER, MenuNames, Name, Stems
from services.retrieval.words import Word, english, windows, words

NEAR = 4  # words to either side that may belong to the same name
MOST_PARTIAL = 4  # names that one word may stand for
PARTIAL = 0.5  # share of a name's words that must be near
MOST_SHARED = 500  # names with the same word: one that more have tells nothing
LETTERS, SHORT_LETTERS = 82, 90  # likeness (0..100) of what was misheard; of less than `LONG` letters
LONG, SHORTEST = 8, 4


class Match(StrEnum):
    """How a name was found, the surest first."""

    WHOLE = "whole"
    PARTIAL = "partial"
    MISHEARD = "misheard"


@dataclass(frozen=True, slots=True)
class Mention:
    """Words [`start`, `end`) of the transcript, in characters, and the names that they may mean."""

    start: int
    end: int
    match: Match
    names: tuple[Name, ...]


@dataclass(frozen=True, slots=True)
class Number:
    """A number that was said, and where, in characters."""

    start: int
    end: int
    value: int


@dataclass(frozen=True, slots=True)
class Retrieval:
    """What a transcript names, in the order in which it was said."""

    mentions: tuple[Mention, ...]
    numbers: tuple[Number, ...]
    unexplained: tuple[tuple[int, int], ...]
    """Words, as character spans, that are neither named, a number nor small words of the language."""
    by_number: bool = False
    """Whether an item was called by its number, which the shipped model never saw in training."""

    def names(self, *matches: Match) -> tuple[Name, ...]:
        """The names found by any of `matches`, each once."""
        return tuple(dict.fromkeys(n for m in self.mentions if m.match in matches for n in m.names))


def retrieve(transcript: str, menu: MenuNames) -> Retrieval:
    """Look the words of `transcript` up in `menu`."""
    spoken = words(transcript)
    whole = list(_whole(transcript, spoken, menu))
    # Words that call an item by its number, which is not a quantity.
    called = _covered(one for one in whole if one[3][0] in menu.numbered)
    numbers = list(_numbers(spoken, called))
    known, small = _covered(whole) | _covered(numbers), english().small_words
    open_ = [at for at, word in enumerate(spoken) if at not in known and word.folded not in small]
    guesses = [*_partial(spoken, open_, menu), *_misheard(spoken, open_, menu)]
    guessed = _covered(guesses)
    found = sorted([*whole, *guesses], key=lambda one: one[:2])
    return Retrieval(
        mentions=tuple(_mention(spoken, menu, *one) for one in found),
        numbers=tuple(Number(spoken[a].start, spoken[b - 1].end, value) for a, b, value in numbers),
        unexplained=tuple((spoken[at].start, spoken[at].end) for at in open_ if at not in guessed),
        by_number=bool(called),
    )


_Found = tuple[int, int, Match, tuple[Stems, ...]]


def _covered(found: Iterable[_Found | tuple[int, int, int]]) -> set[int]:
    return {at for one in found for at in range(one[0], one[1])}


def _mention(
    spoken: Sequence[Word], menu: MenuNames, start: int, end: int, match: Match, keys: Iterable[Stems]
) -> Mention:
    names = dict.fromkeys(name for key in keys for name in menu.whole[key])
    return Mention(spoken[start].start, spoken[end - 1].end, match, tuple(names))


def _whole(transcript: str, spoken: Sequence[Word], menu: MenuNames) -> Iterable[_Found]:
    """Names said word for word that are not inside a longer one that was."""
    said: list[tuple[int, int, Stems]] = [
        (at, at + 1, (NUMBER, word.stem))
        for at, word in enumerate(spoken)
        if (NUMBER, word.stem) in menu.numbered and transcript[: word.start].endswith("#")
    ]
    for start, end in windows(spoken, 2 * menu.longest):
        key = tuple(word.stem for word in spoken[start:end] if word.stem != "and")
        if key in menu.whole and spoken[start].stem != "and" and spoken[end - 1].stem != "and":
            said.append((start, end, key))
    reach = 0
    for start, end, key in sorted(said, key=lambda one: (one[0], -one[1])):
        if end > reach:  # no longer name before it covers it
            yield start, end, Match.WHOLE, (key,)
            reach = end


def _partial(spoken: Sequence[Word], open_: Sequence[int], menu: MenuNames) -> Iterable[_Found]:
    """Names of which some words were said: those with the largest share of their words near come first."""
    for at in open_:
        having = menu.having.get(spoken[at].stem, ())
        if len(having) > MOST_SHARED:
            continue
        near = {word.stem for word in spoken[max(0, at - NEAR) : at + NEAR + 1]}
        shares = [(-sum(w in near for w in key) / len(key), len(key), key) for key in having]
        best = sorted(shares)[:MOST_PARTIAL]
        keys = tuple(key for share, _, key in best if -share >= PARTIAL) or tuple(k for *_, k in best[:2])
        if keys:
            yield at, at + 1, Match.PARTIAL, keys


def _misheard(spoken: Sequence[Word], open_: Sequence[int], menu: MenuNames) -> Iterable[_Found]:
    """Names that words which nothing names are spelled or sound almost like."""
    unnamed = {at for at in open_ if spoken[at].stem not in menu.having}
    letters = [spelling for spelling, _, _ in menu.spellings]
    for start, end in windows(spoken, min(menu.longest + 1, NEAR)):
        joined = "".join(word.stem for word in spoken[start:end])
        if (
            len(joined) < SHORTEST
            or unnamed.isdisjoint(range(start, end))
            or not {start, end - 1} <= set(open_)
        ):
            continue
        floor = LETTERS if len(joined) >= LONG else SHORT_LETTERS
        alike = process.extract(joined, letters, scorer=fuzz.ratio, score_cutoff=LETTERS, limit=MOST_PARTIAL)
        sound = jellyfish.metaphone(joined)
        keys = tuple(
            menu.spellings[index][2]
            for _, score, index in alike
            if score >= floor or menu.spellings[index][1] == sound
        )
        if keys:
            yield start, end, Match.MISHEARD, keys


def _numbers(spoken: Sequence[Word], called: Collection[int]) -> Iterable[tuple[int, int, int]]:
    """Numbers in digits or words, as (first word, behind the last, value): "twenty one" is 21. Without those
    that call an item."""
    at = 0
    while at < len(spoken):
        start, stem = at, spoken[at].stem
        at += 1
        if start in called or not stem.isdecimal() or len(stem) > 4:
            continue
        value = int(stem)
        before = [word.folded for word in spoken[max(0, start - 2) : start]]
        if value == 12 and ("half" in before[-1:] or before == ["half", "a"]):
            value = 6
        if (
            value in range(20, 100, 10)
            and at < len(spoken)
            and spoken[at].stem in "1 2 3 4 5 6 7 8 9".split()
        ):
            value += int(spoken[at].stem)
            at += 1
        yield start, at, value
