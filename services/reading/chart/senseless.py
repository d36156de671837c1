"""Spans that can't be meant beside those that stand, since words would be left that make no sense."""

from __future__ import annotations

from collections.abc import Mapping

from services.reading.chart.span import GAPPED, Span
from services.reading.chart.tokens import Utterance
from services.reading.effort import charge


def filled(tokens: Utterance, one: Span, kept: list[Span]) -> bool:
    """Whether what stands in the gap of a name is named itself: in "a tub of veggie cream cheese" the veggie
    is a part of another name, and would be lost."""
    gap = set(range(one.core[0], one.core[-1] + 1)) - set(one.core)
    gap = {i for i in gap if tokens[i].folded not in tokens.language.definite_articles}
    if not gap:
        return True
    charge(len(kept))
    # "Extra cheddar cheese" is of the cheddar, where there is extra cheese.
    if any(f.kind == one.kind == "option" and f.groups == one.groups and gap >= {*f.core} for f in kept):
        return False
    return gap <= {i for f in kept if f is not one for i in f.core}


def counted(tokens: Utterance, one: Span, kept: list[Span]) -> bool:
    """Whether a name's number counts the same thing by a longer name: "three cheese omelettes", where one is
    a three cheese omelette."""
    if not tokens[one.core[0]].folded.isdigit():
        return False
    charge(len(kept))
    return any(
        f.kind == one.kind == "item"
        and f.ids == one.ids
        and one.core[0] < f.core[0] <= one.core[-1] < f.core[-1]
        for f in kept
    )


def closes(around: Span, choice: Span) -> bool:
    """Whether the last word of a choice closes the item's name `around` it: the sauce of "a bottle of the
    sweet and smoky sauce"."""
    return (
        choice.kind == "option"
        and len(choice.core) > 2
        and choice.core[-1] == around.core[-1]
        and around.core[-2] < choice.core[0]
    )


def strange(
    tokens: Utterance, found: list[Span], kept: list[Span], offers: Mapping[str, frozenset[str]]
) -> set[tuple[tuple[str, ...], tuple[int, ...]]]:
    """Groups and places of choices that no named item comes with, where their words are choices it has: "a
    burger with cheese and onions" has no cheese and onion filling. `offers` are the groups of each item."""
    groups = {group for f in found if f.kind == "item" for ref in f.ids for group in offers[ref]}
    own = [f for f in found if f.kind == "option" and groups.issuperset(f.groups) and f.score >= GAPPED]
    long = [f for f in kept if f.kind == "option" and len(f.core) > 2 and groups.isdisjoint(f.groups)]
    return {(one.groups, one.core) for one in long if _told_by(tokens, one, own)}


def _told_by(tokens: Utterance, one: Span, parts: list[Span]) -> bool:
    """Whether each word of a name but its joints is of a shorter one of `parts`."""
    charge(len(parts))
    told = {i for f in parts if set(f.core) < set(one.core) for i in f.core}
    return told >= {i for i in one.core if tokens[i].folded not in tokens.language.joints}
