"""Clauses: the words of an order cut where one thing that is said ends and the next begins.

A clause begins after a pause or a joint ("and"), where the words lead to another item ("a latte two
muffins"), and at words that take back or change ("actually make", "scratch", "instead of"). What it says of
an order so far is the business of `follow.py`.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import dataclass

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.clauses.cues import NO_CUE, Cue, cue_at
from services.reading.clauses.segmentation.boundaries import Boundaries

# After these what is named has a number, article and sizes of its own, and begins no clause.
_CHANGING = (Cue.SWAP, Cue.INSTEAD)


@dataclass(frozen=True, slots=True)
class Clause:
    """Tokens [start, end), how they are joined to what was before ("", ",", ".", or a joint's word), the cue
    that they begin with, where it ends, and whether their sentence asks about the menu or tells a tale."""

    start: int
    end: int
    lead: str
    cue: Cue
    body: int
    asks: bool
    tale: bool
    names: tuple[Name, ...]


class Lost(Exception):
    """A clause that can't be followed."""


def clauses(text: str, tokens: Utterance, names: list[Name], odd: Collection[int] = ()) -> list[Clause]:
    """The clauses of an order, in its order. Joints and pauses belong to none. `odd` are positions of words
    that nothing accounts for."""
    return _Segmenter(text, tokens, names, odd).clauses()


class _Segmenter:
    """Walks over the words and closes a clause where the next begins. What is kept of the open one is what
    a `Clause` has: `start`, `lead`, `cue` and `body`."""

    def __init__(self, text: str, tokens: Utterance, names: list[Name], odd: Collection[int]) -> None:
        self._tokens, self._names, self._words = tokens, names, tokens.language
        self._bounds = Boundaries(tokens, names, odd)
        # "A bacon, egg and cheese" is one name, and its comma no pause.
        self._in_name = {i for name in names for i in range(name.start + 1, name.end)}
        self._asked = _found(self._words.asked, text, tokens)
        self._tales = _found(self._words.tale, text, tokens)
        self._clauses: list[Clause] = []
        self._start, self._lead, self._cue, self._body = 0, "", Cue.NONE, 0

    def clauses(self) -> list[Clause]:
        """All of them, from the first word to the last."""
        i = 0
        while i < len(self._tokens):
            cue, end = NO_CUE if i in self._bounds.inside else cue_at(self._tokens, i, self._bounds.inside)
            paused = i > 0 and bool(self._tokens[i - 1].after) and i not in self._in_name
            if paused or cue or self._joins(i) or self._parts(i):
                self._begin(i, cue, end)
            i = self._past(cue, end) if cue else i + 1
        self._close(len(self._tokens))
        return self._clauses

    def _joins(self, i: int) -> bool:
        """Whether a joint stands at `i`, between two clauses and not in the middle of a name or list."""
        word = self._tokens[i].folded
        joint = word in self._words.conjunctions or word in self._words.turning
        return joint and i not in self._bounds.inside and i not in self._bounds.within

    def _parts(self, i: int) -> bool:
        """Whether a clause begins at `i` without a pause, a joint or a cue."""
        if self._cue not in _CHANGING and self._bounds.at(i, self._start):
            return True
        # "Do you have chai great a large one".
        assents = self._tokens[i].folded in self._words.assent and i not in self._bounds.inside
        return assents and any(self._start <= at < i for at in self._asked)

    def _begin(self, i: int, cue: Cue, end: int) -> None:
        """Close what is open, and open a clause at `i`, with a cue that ends at `end`."""
        self._close(i)
        joint = self._joins(i)
        pause = self._tokens[i - 1].after[:1] if i > 0 else ""
        if joint:
            self._lead = self._tokens[i].folded
        elif i > self._start or pause:
            self._lead = pause
        self._start = i + joint
        self._cue, self._body = cue, end if cue else self._start

    def _past(self, cue: Cue, end: int) -> int:
        """Where to go on after a cue that ends at `end`: "scrap all that, what I want is ..." is two."""
        whole = phrase_end(self._tokens, end, self._words.all_of_it) if cue is Cue.REMOVE else None
        if whole is None or whole >= len(self._tokens) or self._tokens[whole - 1].after:
            return end
        self._close(whole)
        self._start, self._lead, self._cue, self._body = whole, "", Cue.NONE, whole
        return whole

    def _close(self, end: int) -> None:
        """Keep the open clause, which ends at `end`, unless it is empty."""
        if end <= self._start:
            return
        own = tuple(n for n in self._names if self._start <= n.start and n.end <= end)
        asks, tale = self._asks(end, own), self._tells_tale(end)
        self._clauses.append(Clause(self._start, end, self._lead, self._cue, self._body, asks, tale, own))

    def _tells_tale(self, end: int) -> bool:
        """Whether the open clause is part of a tale: what follows in its sentence is, up to a "but"."""
        return any(
            at < end
            and sentence_at(self._tokens, at) == sentence_at(self._tokens, self._start)
            and not any(t.folded in self._words.ending_tales for t in self._tokens[at : self._start + 1])
            for at in self._tales
        )

    def _asks(self, end: int, own: tuple[Name, ...]) -> bool:
        """Whether the sentence of the open clause asks about the menu ("do you have"), and orders nothing."""
        if any(self._start <= at < end for at in self._asked):
            return True
        tokens, words = self._tokens, self._words
        first, last = sentence_at(tokens, self._start)
        if not own or tokens[last - 1].after[:1] != "?":
            return False
        while first < last - 1 and tokens[first].folded in words.before_asking:
            first += 1
        return tokens[first].folded in words.asking and phrase_end(tokens, first, words.requesting) is None


def _found(pattern: re.Pattern[str], text: str, tokens: Utterance) -> list[int]:
    """The tokens at which a pattern is found in what was said."""
    return [tokens_at(tokens, found.start()) for found in pattern.finditer(text)]


def tokens_at(tokens: Utterance, offset: int) -> int:
    """The first token that begins at or after a character."""
    return next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))


def sentence_at(tokens: Utterance, at: int) -> tuple[int, int]:
    """The sentence that the token at `at` belongs to."""
    first = min(at, len(tokens) - 1)
    last = first + 1
    while first > 0 and tokens[first - 1].after not in SENTENCE_ENDS:
        first -= 1
    while last < len(tokens) and tokens[last - 1].after not in SENTENCE_ENDS:
        last += 1
    return first, last
