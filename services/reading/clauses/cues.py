"""Words by which a clause takes back, refuses, swaps or brings back what was said before it."""

from __future__ import annotations

from enum import StrEnum

from services.reading.chart.mentions import phrase_end
from services.reading.chart.tokens import Utterance
from services.reading.language.language import Language
from services.reading.values.numbers import number_value


class Cue(StrEnum):
    """What the words that a clause begins with do to what was said before; `NONE` is false."""

    NONE = ""
    REPLACE = "replace"
    REMOVE = "remove"
    SWAP = "swap"
    INSTEAD = "instead"
    NOT = "not"
    KEEP = "keep"


NO_CUE = (Cue.NONE, 0)
# Words after a verb in which its other half is looked for ("give the carrots and the peppers a miss").
_REACH = 9


def cue_at(tokens: Utterance, at: int, inside: set[int]) -> tuple[Cue, int]:
    """The cue that stands at `at`, and its end. Of several the longest; `inside` are the tokens of names."""
    cue, end = _parted_verb(tokens, at)
    if cue:
        return cue, end
    for kind, phrases in _cues(tokens.language):
        later = phrase_end(tokens, at, phrases)
        if later is not None and later > end:
            cue, end = kind, later
    amount = end == at + 1 and tokens[at].folded in tokens.language.amounts
    if cue is Cue.REPLACE and amount and not _corrects(tokens, end, inside):
        return Cue.NONE, at
    return cue, end


def _cues(words: Language) -> tuple[tuple[Cue, tuple[tuple[str, ...], ...]], ...]:
    """Which phrases are which cue; of those that are as long the first."""
    return (
        (Cue.INSTEAD, words.instead_of),
        (Cue.SWAP, words.swap_cues),
        (Cue.KEEP, words.keeping),
        (Cue.REMOVE, words.removing),
        (Cue.NOT, words.negating),
        (Cue.REPLACE, words.replacing),
    )


def _corrects(tokens: Utterance, end: int, inside: set[int]) -> bool:
    """Whether a "no" that ends at `end` corrects what was said before, and is no amount ("no onions"): before
    a pause, a number, an article that leads to a name, or another word of replacing."""
    if tokens[end - 1].after:
        return True
    if end == len(tokens):
        return False
    article = tokens[end].folded in tokens.language.indefinite_articles
    return (
        number_value(tokens[end].folded, tokens.language) is not None
        or (article and bool(inside & {end + 1, end + 2}))
        or phrase_end(tokens, end, tokens.language.replacing) is not None
    )


def _parted_verb(tokens: Utterance, at: int) -> tuple[Cue, int]:
    """ "Take the mustard off", "put the salad back"; "I'll take" begins no such words."""
    words = tokens.language
    verb = tokens[at].folded
    back = verb in words.returning
    particles = words.returning[verb] if back else words.particles.get(verb, ())
    if not particles or (at > 0 and tokens[at - 1].folded in words.before_verbs):
        return Cue.NONE, at
    for i in range(at, min(at + _REACH, len(tokens))):
        if tokens[i].folded in particles:
            return (Cue.KEEP if back else Cue.REMOVE), at + 1
        if tokens[i].after:
            break
    return Cue.NONE, at
