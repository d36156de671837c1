"""Mentions that overlap: which of them stand.

The longest wins over whatever lies inside it, whatever its kind: the size word in "medium roast" opens no
size, and the "mocha" in "mocha syrup" no drink. What was said whole wins over what only sounds alike.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from services.pipeline.english import JOINTS
from services.pipeline.words import Token

EXACT, SHORT, GAPPED, PART, GUESS, SHARED_PART = 1.0, 0.98, 0.97, 0.6, 0.45, 0.4


@dataclass(frozen=True, slots=True)
class Found:
    """A mention before overlaps are settled: token positions that matched, and whom they name. An `uneven`
    one has more or fewer words than the name, and likeness in the whole only; of an even one `unlike` are the
    positions of words that are not the name's."""

    kind: str
    group: str
    id: str
    core: tuple[int, ...]
    score: float
    uneven: bool = False
    unlike: tuple[int, ...] = ()


def settle(found: list[Found]) -> list[Found]:
    """Drop what lies strictly inside a better or longer mention, and weaker readings of the same words."""
    # A short form is no name said whole.
    whole = [f for f in found if f.score >= GAPPED and f.score != SHORT]
    found = [
        f
        for f in found
        if f.score >= GAPPED or not (any(_belies(w, f) for w in whole) or _all_said(whole, f))
    ]
    found = [f for f in found if not any(_parts_better(f, w, whole) for w in whole)]
    ordered = sorted(found, key=lambda f: (-len(f.core), -f.score))
    kept: list[Found] = []
    for f in ordered:
        if any(_beats(k, f) for k in kept):
            continue
        # A longer but worse reading gives way to an exact one inside it ("and latte" to "latte").
        kept = [k for k in kept if not (set(f.core) < set(k.core) and f.score > k.score + 0.15)]
        kept.append(f)
    best: dict[tuple[str, str, str, tuple[int, ...]], Found] = {}
    for f in kept:
        key = (f.kind, f.group, f.id, f.core)
        if key not in best or best[key].score < f.score:
            best[key] = f
    return list(best.values())


def _beats(kept: Found, other: Found) -> bool:
    """Whether `kept` leaves no room for `other`, which is no longer and no better than it."""
    mine, its = set(kept.core), set(other.core)
    if its < mine:
        if other.score == SHORT and _same(kept, other):
            return True  # "dark" in "dark rose", which is a dark roast
        return kept.score >= other.score - 0.15
    if its == mine:
        if other.score == SHORT and other.kind == kept.kind == "option":
            return False  # "ranch" is a dip, and short for a dressing: the item tells
        return other.score < kept.score - (0 if kept.score >= EXACT else 0.05)
    return bool(its & mine) and not mine < its and other.score < kept.score


def _belies(whole: Found, like: Found) -> bool:
    """Whether a name said whole shows that a sound-alike over its words is none.

    "two coffees" is one letter off "coffee", but holds the word itself; "classic burger well" is one letter
    off a "meal", but its last word is the first of "well done"; "fresh lemon cake" is near "fresh lemonade",
    but a lemon cake was said.
    """
    mine, its = set(whole.core), set(like.core)
    if mine < its:
        return _same(whole, like) or (like.uneven and whole.kind == like.kind and len(mine) > 1)
    return whole.score >= EXACT and bool(mine & its and mine - its and its - mine)


def _all_said(whole: list[Found], like: Found) -> bool:
    """Whether each word of a mere likeness is of a name said whole: a "double cheeseburger", where that is a
    size and an item, is no double cheeseburger combo; nor is a "chicken korma" a chicken pakora, where a
    korma is an item (an "ice mocha" is an iced one, though it may be had with ice)."""
    inside = [w for w in whole if w.score >= EXACT and set(w.core) < set(like.core)]
    own = {i for w in inside if w.kind == like.kind for i in w.core}
    told = bool(own) if like.uneven else bool(own.intersection(like.unlike))
    return told and {i for w in inside for i in w.core} == set(like.core)


def _parts_better(one: Found, other: Found, whole: list[Found]) -> bool:
    """Whether what two overlapping names leave of each other tells for the other: a "chicken tikka masala" is
    a tikka masala with chicken, which is a name, and no chicken tikka with a masala, which is none."""
    mine, its = set(one.core), set(other.core)
    if one.score < EXACT or other.score < EXACT or not mine & its or not mine - its or not its - mine:
        return False
    left = {frozenset(f.core) for f in whole if f.score >= EXACT and f.kind != "item"}
    return mine - its in left and its - mine not in left


def _same(a: Found, b: Found) -> bool:
    return (a.kind, a.group, a.id) == (b.kind, b.group, b.id)


def filled(tokens: list[Token], one: Found, kept: list[Found]) -> bool:
    """Whether what stands in the gap of a name is named itself: in "a tub of veggie cream cheese" the veggie
    is a part of another name, and would be lost."""
    gap = set(range(one.core[0], one.core[-1] + 1)) - set(one.core)
    gap = {i for i in gap if tokens[i].folded != "the"}
    # "Extra cheddar cheese" is of the cheddar, where there is extra cheese.
    if any(f.kind == one.kind == "option" and f.group == one.group and gap >= {*f.core} for f in kept):
        return False
    return gap <= {i for f in kept if f is not one for i in f.core}


def counted(tokens: list[Token], one: Found, kept: list[Found]) -> bool:
    """Whether a name's number counts the same thing by a longer name: "three cheese omelettes", where one is
    a three cheese omelette."""
    return tokens[one.core[0]].folded.isdigit() and any(
        f.kind == one.kind == "item"
        and f.id == one.id
        and one.core[0] < f.core[0] <= one.core[-1] < f.core[-1]
        for f in kept
    )


def closes(around: Found, choice: Found) -> bool:
    """Whether the last word of a choice closes the item's name `around` it: the sauce of "a bottle of the
    sweet and smoky sauce"."""
    return (
        choice.kind == "option"
        and len(choice.core) > 2
        and choice.core[-1] == around.core[-1]
        and around.core[-2] < choice.core[0]
    )


def strange(
    tokens: list[Token], found: list[Found], kept: list[Found], offers: Mapping[str, frozenset[str]]
) -> set[tuple[str, tuple[int, ...]]]:
    """Groups and places of choices that no named item comes with, where their words are choices it has: "a
    burger with cheese and onions" has no cheese and onion filling. `offers` are the groups of each item."""
    groups = {group for f in found if f.kind == "item" for group in offers[f.id]}
    own = [f for f in found if f.kind == "option" and f.group in groups and f.score >= GAPPED]
    lost = set()
    for one in kept:
        if one.kind == "option" and len(one.core) > 2 and one.group not in groups:
            told = {i for f in own if set(f.core) < set(one.core) for i in f.core}
            if told >= {i for i in one.core if tokens[i].folded not in JOINTS}:
                lost.add((one.group, one.core))
    return lost
