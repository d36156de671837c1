"""Clauses: the words of an order cut where one thing that is said ends and the next begins.

A clause begins after a pause or a joint ("and"), where the words lead to another item ("a latte two
muffins"), and at words that take back or change ("actually make", "scratch", "instead of"). What it says of
an order so far is the business of `following.py`.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from services.pipeline.elisions import OBJECTS
from services.pipeline.english import (
    AGAIN,
    ALL_OF_IT,
    AMOUNTS,
    AND,
    ASKED,
    AS_IT_IS,
    ASKING,
    BEFORE_ASKING,
    EACH,
    FILLERS,
    HALF_OF,
    INSTEAD_OF,
    KEEPING,
    MAKING,
    NEGATING,
    ORDINALS,
    PARTICLES,
    REMOVING,
    REPLACING,
    REQUESTING,
    SWAPPING,
    TALE,
    TELLING,
    THE_OTHER,
    VESSELS,
    WHOSE,
)
from services.pipeline.names import Name, phrase_end
from services.pipeline.placings import runs
from services.pipeline.quantifiers import number_value
from services.pipeline.words import SENTENCE_ENDS, Token

Cue = Literal["", "replace", "remove", "swap", "instead", "not", "keep"]
_NONE: tuple[Cue, int] = ("", 0)
_CUES: tuple[tuple[Cue, tuple[tuple[str, ...], ...]], ...] = (
    ("instead", INSTEAD_OF),
    ("swap", (*SWAPPING, *MAKING)),
    ("keep", KEEPING),
    ("remove", REMOVING),
    ("not", NEGATING),
    ("replace", REPLACING),
)
_ENDING_TALES = frozenset("but anyway anyhow".split())
_POLITE = frozenset("please thanks thank you".split())
# Stand between a number, or "both", and what is said of that part.
_BEFORE_PART = AMOUNTS.keys() | frozenset(
    "of with without no in on a an the them those em get gets have has are come".split()
)
_ARTICLES = frozenset("a an another".split())
# Stand between a number or article and the item that it leads to.
_LEADING = frozenset("of the more those big nice".split())


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


def clauses(text: str, tokens: list[Token], names: list[Name], odd: Collection[int] = ()) -> list[Clause]:
    """The clauses of an order, in its order. Joints and pauses belong to none. `odd` are positions of words that
    nothing accounts for."""
    inside = {i for name in names for i in range(name.start, name.end)}
    leads = _leads(tokens, names)
    placed = runs(tokens, names)
    within = {i for low, high in placed for i in range(low + 1, high)}
    leads |= _unknown(tokens, inside, odd)
    leads |= {i for pair in placed for i in pair}
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
                and _sentence(tokens, told) == _sentence(tokens, start)
                and not any(token.folded in _ENDING_TALES for token in tokens[told : start + 1])
                for told in tales
            )
            found.append(Clause(start, end, lead, cue, body, asks, tale, own))

    i = 0
    while i < len(tokens):
        paused = i > 0 and bool(tokens[i - 1].after)
        here, after = _NONE if i in inside else _cue(tokens, i)
        joint = i not in inside | within and tokens[i].folded in AND | {"but", "except"}
        another = i in leads and i > start and not changing and _goes_on(tokens, names, start, i, odd)
        part = not changing and i not in within and _next_part(tokens, names, inside, start, i)
        part = part or (phrase_end(tokens, i, AGAIN) is not None and _holds(tokens, names, start, i))
        verb = i not in inside and not changing and tokens[i].folded in TELLING
        verb = verb or _prepares(tokens, i)
        part = part or (verb and any(start <= n.start and n.end <= i for n in names))
        if paused or joint or here or another or part:
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


def tokens_at(tokens: list[Token], offset: int) -> int:
    """The first token that begins at or after a character."""
    return next((i for i, token in enumerate(tokens) if token.start >= offset), len(tokens))


def _cue(tokens: list[Token], at: int) -> tuple[Cue, int]:
    """The cue that stands at `at`, and its end. "No" is one before a pause, a number or another cue."""
    parted = _parted_verb(tokens, at)
    if parted[0]:
        return parted
    best: tuple[Cue, int] = ("", at)
    for kind, phrases in _CUES:
        end = phrase_end(tokens, at, phrases)
        if end is not None and end > best[1]:
            best = (kind, end)
    kind, end = best
    if tokens[at].folded == "without":
        return _NONE  # an amount: "without the ham"
    if kind == "replace" and tokens[at].folded == "no" and end == at + 1 and not tokens[at].after:
        follows = end < len(tokens) and (
            number_value(tokens[end].folded) is not None or phrase_end(tokens, end, REPLACING) is not None
        )
        return best if follows else ("", at)
    return best


def _parted_verb(tokens: list[Token], at: int) -> tuple[Cue, int]:
    """ "Take the mustard off", "put the salad back"; "I'll take" begins no such words."""
    particles = PARTICLES.get(tokens[at].folded, ())
    if not particles or (at > 0 and tokens[at - 1].folded in ("ill", "i", "we", "well", "to")):
        return "", at
    for i in range(at, min(at + 9, len(tokens))):
        if tokens[i].folded in particles:
            return ("keep" if particles == ("back",) else "remove"), at + 1
        if tokens[i].after:
            break
    return "", at


def _leads(tokens: list[Token], names: list[Name]) -> set[int]:
    """Where the words that lead to an item begin: its number or article, its sizes and options."""
    starts = {name.end: name for name in names}
    found = set()
    for item in (n for n in names if n.of("item")):
        at, sized = item.start, False
        while at > 0 and not tokens[at - 1].after:
            before = starts.get(at)
            word = tokens[at - 1].folded
            if before is not None and before.start < at and before.of("item") is None:
                if sized and before.of("size") is None and not _opens(tokens, before.start, starts):
                    break  # "oat milk small mocha"
                sized = sized or before.of("size") is not None
                at = before.start
            elif word in ("a", "an") or number_value(word) is not None:
                at -= 1
                break
            elif word in _LEADING:
                at -= 1
                if word == "the" and tokens[at - 1].folded != "of":
                    break  # what is said before it is of another: "no ice the root beer light ice"
            else:
                break
        while at < item.start and tokens[at].folded in _LEADING:
            at += 1
        found.add(at)
    return found


def _unknown(tokens: list[Token], inside: set[int], odd: Collection[int]) -> set[int]:
    """Where an article or number leads to something that nothing accounts for: "a plate of nachos"."""
    found = set()
    for at in odd:
        first = at
        while first > 1 and tokens[first - 1].folded in VESSELS | {"of"} and not tokens[first - 1].after:
            first -= 1
        word = tokens[first - 1].folded if first else ""
        if at not in inside and first - 2 in inside and not tokens[first - 1].after and word in ("a", "an"):
            found.add(first - 1)
    return found


def _opens(tokens: list[Token], at: int, ends: dict[int, Name]) -> bool:
    """Whether a choice before a size leads to the item ("a decaf large coffee"), and ends no list before it."""
    if at == 0 or tokens[at - 1].after:
        return True
    word = tokens[at - 1].folded
    return word in _ARTICLES or word.isdigit() or (word in AND and at - 1 not in ends)


def _next_part(tokens: list[Token], names: list[Name], inside: set[int], start: int, i: int) -> bool:
    """ "One small one large", "with soy both of them iced": a number, an article before a size or a word of
    sharing begins the next part, where names stand on both sides of it."""
    end = i
    passed = _POLITE | ({"1", "one"} if tokens[i].folded in EACH else frozenset())
    while end > start and end - 1 not in inside and tokens[end - 1].folded in passed:
        end -= 1
    last = next((n for n in reversed(names) if start <= n.start and n.end == end), None)
    if i in inside or last is None or tokens[i].after or tokens[last.start - 1].folded == "the":
        return False
    word, after = tokens[i].folded, i + 1
    if number_value(word) is not None and phrase_end(tokens, after, AS_IT_IS) is not None:
        return True
    if word in WHOSE and tokens[after : after + 1] and tokens[after].folded in _BEFORE_PART:
        return True
    pointed = next((n for n in names if n.start == after), None) if word == "the" else None
    if pointed is not None and tokens[pointed.end : pointed.end + 1] and tokens[pointed.end].folded in ("1", "one"):
        return True  # "one small the large one with chili sauce"
    if word == "the" and tokens[after : after + 1] and tokens[after].folded in {*THE_OTHER, *ORDINALS}:
        return True
    if phrase_end(tokens, i, HALF_OF) is not None:
        return True
    while after < len(tokens) and after not in inside and tokens[after].folded in _BEFORE_PART:
        after += 1
    if after < len(tokens) and after not in inside and number_value(tokens[after].folded) is not None:
        after += 1  # "one with two ranches"
    following = [n for n in names if n.start == after and (n.of("option") or not n.of("item"))]
    if number_value(word) == 1 and last.of("size") and tokens[last.start - 1].folded in _ARTICLES:
        return False  # "a small one with cream"
    if word in ("a", "an"):
        return any(n.of("size") for n in following)
    return bool(following) and (number_value(word) is not None or word in EACH)


def _prepares(tokens: list[Token], at: int) -> bool:
    """Whether something is done at `at` to what was named before: "toast them both"."""
    told = tokens[at].folded.endswith("ed") and not tokens[at].after
    return told and at + 1 < len(tokens) and tokens[at + 1].folded in OBJECTS


def _holds(tokens: list[Token], names: list[Name], start: int, at: int) -> bool:
    """Whether nothing but little words stands between the last name of a clause and `at`."""
    last = max((n.end for n in names if start <= n.start and n.end <= at), default=None)
    return last is not None and all(token.folded in FILLERS for token in tokens[last:at])


def _goes_on(tokens: list[Token], names: list[Name], start: int, at: int, odd: Collection[int]) -> bool:
    """Whether something was named before the words that lead to another item; "whip on a mocha" is one."""
    named = any(start <= n.start and n.end <= at for n in names)
    led = tokens[at].folded in _ARTICLES or tokens[at].folded.isdigit()
    named = named or (led and at - 1 in odd and at - 2 >= start and tokens[at - 2].folded in _ARTICLES)
    before = at - 1
    while before > start and tokens[before].folded in ("the", "that", "this", "either", "my"):
        before -= 1
    word = tokens[before].folded
    return named and not word.endswith("ed") and word not in ("on", "in", "for", "to", "of", "with")


def _sentence(tokens: list[Token], at: int) -> tuple[int, int]:
    """The sentence that the token at `at` belongs to."""
    first = min(at, len(tokens) - 1)
    last = first + 1
    while first > 0 and tokens[first - 1].after not in SENTENCE_ENDS:
        first -= 1
    while last < len(tokens) and tokens[last - 1].after not in SENTENCE_ENDS:
        last += 1
    return first, last


def _asks(tokens: list[Token], start: int, end: int, asked: list[int], own: tuple[Name, ...]) -> bool:
    """Whether the sentence of a clause asks about the menu ("do you have"), and orders nothing."""
    first, last = _sentence(tokens, start)
    last -= 1
    if any(start <= at < end for at in asked):
        return True
    question = tokens[last].after[:1] == "?"
    while first < last and tokens[first].folded in BEFORE_ASKING:
        first += 1
    begins = tokens[first].folded in ASKING
    return question and begins and phrase_end(tokens, first, REQUESTING) is None and bool(own)
