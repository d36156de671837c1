"""Words by which a clause takes back, refuses, swaps or brings back what was said before it."""

from __future__ import annotations

from typing import Literal

from services.reading.chart.mentions import phrase_end
from services.reading.chart.tokens import Utterance
from services.reading.language.turns import (
    INSTEAD_OF,
    KEEPING,
    MAKING,
    NEGATING,
    PARTICLES,
    REMOVING,
    REPLACING,
    SWAPPING,
)
from services.reading.values.numbers import number_value

Cue = Literal["", "replace", "remove", "swap", "instead", "not", "keep"]
NO_CUE: tuple[Cue, int] = ("", 0)
_CUES: tuple[tuple[Cue, tuple[tuple[str, ...], ...]], ...] = (
    ("instead", INSTEAD_OF),
    ("swap", (*SWAPPING, *MAKING)),
    ("keep", KEEPING),
    ("remove", REMOVING),
    ("not", NEGATING),
    ("replace", REPLACING),
)
# Words after a verb in which its other half is looked for ("give the carrots and the peppers a miss").
_REACH = 9


def cue_at(tokens: Utterance, at: int, inside: set[int]) -> tuple[Cue, int]:
    """The cue that stands at `at`, and its end. "No" is one before a pause, a number, an article
    that leads to a name, or another cue. `inside` are the tokens of names."""
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
        return NO_CUE  # an amount: "without the ham"
    if kind == "replace" and tokens[at].folded == "no" and end == at + 1 and not tokens[at].after:
        follows = end < len(tokens) and (
            number_value(tokens[end].folded) is not None
            or (tokens[end].folded in ("a", "an") and bool(inside & {end + 1, end + 2}))
            or phrase_end(tokens, end, REPLACING) is not None
        )
        return best if follows else ("", at)
    return best


def _parted_verb(tokens: Utterance, at: int) -> tuple[Cue, int]:
    """ "Take the mustard off", "put the salad back"; "I'll take" begins no such words."""
    particles = PARTICLES.get(tokens[at].folded, ())
    if not particles or (at > 0 and tokens[at - 1].folded in ("ill", "i", "we", "well", "to")):
        return "", at
    for i in range(at, min(at + _REACH, len(tokens))):
        if tokens[i].folded in particles:
            return ("keep" if particles == ("back",) else "remove"), at + 1
        if tokens[i].after:
            break
    return "", at
