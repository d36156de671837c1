"""Amounts that go on over a list: "no cream, foam or sugar", "heavy on the oil and vinegar"."""

from __future__ import annotations

from enum import StrEnum
from itertools import pairwise

from schemas.cart import Amount
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance, span

_REFUSING = 2  # words before a list in which what refuses all of it is looked for


class _Joint(StrEnum):
    """What joins two names of a list."""

    OR = "or"
    AND = "and"
    PAUSE = "pause"


def refuse_lists(tokens: Utterance, options: list[Span], amounts: list[set[Amount]]) -> None:
    """Carry a "no" over the list that it begins: "no cream, foam or sugar" refuses all three. Without an
    "or" what follows may be refused or wished for ("no lettuce, tomato"): both are left open. "Without
    lettuce and tomato" has neither, where the two are of one group."""
    for start, said in enumerate(amounts):
        if said != {Amount.NONE}:
            continue
        joints = _list(tokens, options[start:], amounts[start:])
        first = span(tokens, options[start])[0]
        all_of_it = any(
            t.folded in tokens.language.refusing_all for t in tokens[max(first - _REFUSING, 0) : first]
        )
        closing = {_Joint.OR, _Joint.AND} if all_of_it else {_Joint.OR}
        last = max((i for i, joint in enumerate(joints, 1) if joint in closing), default=0)
        for i in range(1, len(joints) + 1):
            alike = bool(set(options[start].groups) & set(options[start + i].groups))
            refused = _refused_as(within=i <= last, alike=alike, ended=_Joint.OR in joints[i - 1 :])
            if not refused:
                break
            amounts[start + i].update(refused)


def _list(tokens: Utterance, options: list[Span], amounts: list[set[Amount]]) -> list[_Joint]:
    """What joins the options of a list that begins with the first; none after it has an amount of its own."""
    joints: list[_Joint] = []
    for (before, after), its in zip(pairwise(options), amounts[1:], strict=True):
        joint = _joint(tokens, span(tokens, before)[1], span(tokens, after)[0])
        if joint is None or its:
            break
        joints.append(joint)
    return joints


def _refused_as(*, within: bool, alike: bool, ended: bool) -> set[Amount]:
    """What a "no" before a list makes of one of it: `within` the part that is surely refused, `alike` where
    it is of the first one's group, `ended` where an "or" comes at or after it. Empty: it ends before it."""
    if within and (alike or ended):
        return {Amount.NONE}
    return {Amount.NONE, Amount.NORMAL} if alike or within else set()


def carry_on(tokens: Utterance, options: list[Span], amounts: list[set[Amount]]) -> None:
    """ "Heavy on the oil and vinegar" is of both, or of the oil alone."""
    for (one, said), (other, its) in pairwise(zip(options, amounts, strict=True)):
        first, end = span(tokens, one)
        joined = _joint(tokens, end, span(tokens, other)[0]) is _Joint.AND and not tokens[end - 1].after
        if joined and _heavy_on(tokens, first) and not its and set(one.groups) & set(other.groups):
            its.update(said | {Amount.NORMAL})


def _heavy_on(tokens: Utterance, first: int) -> bool:
    """Whether "heavy on the" stands before token `first`."""
    said = tokens.language
    at = first - 1 - (first > 0 and tokens[first - 1].folded in said.definite_articles)
    return at > 0 and tokens[at].folded in said.upon and tokens[at - 1].folded in said.amounts


def _joint(tokens: Utterance, end: int, first: int) -> _Joint | None:
    """What joins two names of a list, or a pause that a recogniser may have left out; None when they are no
    list."""
    if first < end:
        return None  # what is shared by all stands after what is a part's own
    said = tokens.language
    words = {token.folded for token in tokens[end:first]} - said.within_lists
    if words and words <= said.alternatives:
        return _Joint.OR
    if words and words <= said.coordinating:
        return _Joint.AND
    return _Joint.PAUSE if not words and tokens[end - 1].after in ("", ",") else None
