"""Spans that overlap: which of them stand.

The longest wins over whatever lies inside it, whatever its kind: the size word in "medium roast" opens no
size, and the "mocha" in "mocha syrup" no drink. What was said whole wins over what only sounds alike.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Set

from schemas.explanation import Loss
from services.reading.chart.span import EXACT, GAPPED, SHORT, Span
from services.reading.effort import charge


def settle(found: list[Span]) -> list[Span]:
    """Drop what lies strictly inside a better or longer mention, and weaker readings of the same words."""
    best: dict[tuple[object, ...], Span] = {}
    for f in _undisputed(_credible(found)):
        key = (f.kind, f.groups, f.ids, f.core)
        if key not in best or best[key].score < f.score:
            best[key] = f
    return list(best.values())


def _credible(found: list[Span]) -> list[Span]:
    """Those that names said whole do not belie. A short form is no name said whole."""
    whole = _Overlaps([f for f in found if _is_whole(f)])
    found = [f for f in found if f.score >= GAPPED or not _told_otherwise(whole.of(f), f)]
    said = _said_whole(whole.all)
    return [f for f in found if f.score < EXACT or not any(_parts_better(f, w, said) for w in whole.of(f))]


def _is_whole(one: Span) -> bool:
    """Whether all words of a name were said, if with others between."""
    return one.score >= GAPPED and one.score != SHORT


def _said_whole(found: list[Span]) -> set[frozenset[int]]:
    """The places of sizes and options that were said whole."""
    return {frozenset(f.core) for f in found if f.score >= EXACT and f.kind != "item"}


def _undisputed(found: list[Span]) -> list[Span]:
    """Those that no other beats, the longest first."""
    kept = _Overlaps()
    for f in sorted(found, key=lambda f: (-len(f.core), -f.score)):
        near = kept.of(f)
        if any(_beats(k, f) for k in near):
            continue
        for k in near:
            # A longer but worse reading gives way to an exact one inside it ("and latte" to "latte").
            if set(f.core) < set(k.core) and f.score > k.score + 0.15:
                kept.drop(k)
        kept.add(f)
    return kept.all


class _Overlaps:
    """Mentions by the words that they have, so that each is held only against those that share a word."""

    def __init__(self, found: Iterable[Span] = ()) -> None:
        self._all: dict[int, Span] = {}
        self._at: dict[int, dict[int, Span]] = defaultdict(dict)
        for f in found:
            self.add(f)

    @property
    def all(self) -> list[Span]:
        """All of them, in the order in which they came."""
        return list(self._all.values())

    def add(self, one: Span) -> None:
        self._all[id(one)] = one
        for i in one.core:
            self._at[i][id(one)] = one

    def drop(self, one: Span) -> None:
        del self._all[id(one)]
        for i in one.core:
            del self._at[i][id(one)]

    def of(self, one: Span) -> list[Span]:
        """Those that have a word of `one`, itself too where it is among them."""
        beside = [self._at[i] for i in one.core if i in self._at]
        charge(1 + sum(len(found) for found in beside))
        near: dict[int, Span] = {}
        for found in beside:
            near |= found
        return list(near.values())


def _told_otherwise(whole: list[Span], like: Span) -> bool:
    """Whether names said `whole` over its words show that a mere likeness is none."""
    return any(_belies(w, like) for w in whole) or _all_said(whole, like)


def _beats(kept: Span, other: Span) -> bool:
    """Whether `kept` leaves no room for `other`, which is no longer and no better than it."""
    mine, its = set(kept.core), set(other.core)
    if its < mine:
        if other.score == SHORT and kept.alike(other):
            return True  # "dark" in "dark rose", which is a dark roast
        return kept.score >= other.score - 0.15
    if its == mine:
        if other.score == SHORT and other.kind == kept.kind == "option":
            return False  # "ranch" is a dip, and short for a dressing: the item tells
        return other.score < kept.score - (0 if kept.score >= EXACT else 0.05)
    return bool(its & mine) and not mine < its and other.score < kept.score


def _belies(whole: Span, like: Span) -> bool:
    """Whether a name said whole shows that a sound-alike over its words is none.

    "two coffees" is one letter off "coffee", but holds the word itself; "classic burger well" is one letter
    off a "meal", but its last word is the first of "well done"; "fresh lemon cake" is near "fresh lemonade",
    but a lemon cake was said.
    """
    mine, its = set(whole.core), set(like.core)
    if mine < its:
        return whole.alike(like) or (like.uneven and whole.kind == like.kind and len(mine) > 1)
    return whole.score >= EXACT and bool(mine & its and mine - its and its - mine)


def _all_said(whole: list[Span], like: Span) -> bool:
    """Whether each word of a mere likeness is of a name said whole: a "double cheeseburger", where that is a
    size and an item, is no double cheeseburger combo; nor is a "chicken korma" a chicken pakora, where a
    korma is an item (an "ice mocha" is an iced one, though it may be had with ice)."""
    inside = [w for w in whole if w.score >= EXACT and set(w.core) < set(like.core)]
    own = {i for w in inside if w.kind == like.kind for i in w.core}
    told = bool(own) if like.uneven else bool(own.intersection(like.unlike))
    return told and {i for w in inside for i in w.core} == set(like.core)


def _parts_better(one: Span, other: Span, said: Set[frozenset[int]]) -> bool:
    """Whether what two overlapping names leave of each other tells for the other: a "chicken tikka masala" is
    a tikka masala with chicken, which is a name, and no chicken tikka with a masala, which is none. `said`
    are the places of sizes and options that were said whole."""
    mine, its = set(one.core), set(other.core)
    if one.score < EXACT or other.score < EXACT or not mine & its or not mine - its or not its - mine:
        return False
    return mine - its in said and its - mine not in said


def outdone(one: Span, found: list[Span], kept: list[Span]) -> tuple[Span | None, Loss]:
    """What a candidate that does not stand lost to, of all that were `found` and of those `kept`, and why: an
    account for people, which settles nothing."""
    charge(len(found) + len(kept))
    near, beside = _Overlaps(kept).of(one), _Overlaps(found).of(one)
    whole, said = [f for f in beside if _is_whole(f)], _said_whole(found)
    if one.score < GAPPED and _told_otherwise(whole, one):
        return next((k for k in near if k.score >= GAPPED), None), "said_otherwise"
    if better := [w for w in whole if _parts_better(one, w, said)]:
        return better[0], "parts_fit_better"
    winner = next((k for k in near if _beats(k, one)), next(iter(near), None))
    return winner, _loss(one, winner)


def _loss(one: Span, winner: Span | None) -> Loss:
    """Why a candidate gives way to a `winner` over some of its words."""
    if winner is None:
        return "makes_no_sense"
    mine, its = set(winner.core), set(one.core)
    if its == mine:
        return "nearer"
    return "longer" if its < mine else "outscored"
