"""Clauses: the words of an order cut where one thing that is said ends and the next begins.

A clause begins after a pause or a joint ("and"), where the words lead to another item ("a latte two
muffins"), and at words that take back or change ("actually make", "scratch", "instead of"). What it says of
an order so far is the business of `following.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.clauses.boundaries import Boundaries
from services.reading.clauses.cues import NO_CUE, Cue, cue_at
from services.reading.language.english import AND
from services.reading.language.talk import ASKED, ASKING, ASSENT, BEFORE_ASKING, REQUESTING, TALE
from services.reading.language.turns import ALL_OF_IT

_JOINTS = AND | {"but", "except"}
_ENDING_TALES = frozenset("but anyway anyhow so".split())


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

    def item_before(self, name: Name) -> bool:
        """Whether an item alone, and no choice, is named before `name`."""
        return any(n.start < name.start and n.of("item") and not n.of("option") for n in self.names)


def clauses(text: str, tokens: Utterance, names: list[Name], odd: Collection[int] = ()) -> list[Clause]:
    """The clauses of an order, in its order. Joints and pauses belong to none. `odd` are positions of words
    that nothing accounts for."""
    bounds = Boundaries(tokens, names, odd)
    asked = [tokens_at(tokens, m.start()) for m in ASKED.finditer(text)]
    tales = [tokens_at(tokens, m.start()) for m in TALE.finditer(text)]
    found: list[Clause] = []
    start, lead, body, changing = 0, "", 0, False
    cue: Cue = ""

    def close(end: int) -> None:
        if end > start:
            own = tuple(n for n in names if start <= n.start and n.end <= end)
            asks = _asks(tokens, start, end, asked, own)
            # What follows in the sentence of a tale is part of it, up to a "but".
            tale = any(
                told < end
                and sentence_at(tokens, told) == sentence_at(tokens, start)
                and not any(token.folded in _ENDING_TALES for token in tokens[told : start + 1])
                for told in tales
            )
            found.append(Clause(start, end, lead, cue, body, asks, tale, own))

    i = 0
    while i < len(tokens):
        paused = i > 0 and bool(tokens[i - 1].after)
        here, after = NO_CUE if i in bounds.inside else cue_at(tokens, i, bounds.inside)
        joint = tokens[i].folded in _JOINTS and i not in bounds.inside | bounds.within
        part = not changing and bounds.at(i, start)
        part = part or (
            tokens[i].folded in ASSENT and any(start <= at < i for at in asked) and i not in bounds.inside
        )
        if paused or joint or here or part:
            close(i)
            pause = tokens[i - 1].after[:1] if paused else ""
            lead = tokens[i].folded if joint else pause if i > start or paused else lead
            start = i + joint
            cue, body = here, after if here else start
            changing = here in ("swap", "instead")
            if here:
                i = after
                whole = phrase_end(tokens, i, ALL_OF_IT) if here == "remove" else None
                if whole is not None and whole < len(tokens) and not tokens[whole - 1].after:
                    close(whole)  # "scrap all that, what I want is ..."
                    start, lead, cue, body, i = whole, "", "", whole, whole
                continue
        i += 1
    close(len(tokens))
    return found


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


def _asks(tokens: Utterance, start: int, end: int, asked: list[int], own: tuple[Name, ...]) -> bool:
    """Whether the sentence of a clause asks about the menu ("do you have"), and orders nothing."""
    first, last = sentence_at(tokens, start)
    last -= 1
    if any(start <= at < end for at in asked):
        return True
    question = tokens[last].after[:1] == "?"
    while first < last and tokens[first].folded in BEFORE_ASKING:
        first += 1
    begins = tokens[first].folded in ASKING
    return question and begins and phrase_end(tokens, first, REQUESTING) is None and bool(own)
