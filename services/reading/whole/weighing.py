"""Words that leave a choice open: "a latte or a mocha", "I was going to get one", "with just ketchup"."""

from __future__ import annotations

from schemas.cart import Amount
from services.reading.chart.span import Span
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance, covered, span
from services.reading.values.numbers import number_value

_NEAR = 3  # words between "or" and what it stands between
_LIST = 6  # words of a list that a "no" may begin


def weighs(text: str, tokens: Utterance, mentions: list[Span]) -> bool:
    """Whether the words leave a choice open, or tell of another order than this one."""
    if mentions and tokens.language.weighed.search(text):
        return True
    options = [span(tokens, m) for m in mentions if m.kind == "option"]
    if any(_affirmed(tokens, end) or _alone(tokens, first, end) for first, end in options):
        return True
    alternatives = [i for i, token in enumerate(tokens) if token.folded in tokens.language.alternatives]
    named = covered(tokens, mentions) if alternatives else set()
    return any(_between(i, tokens, mentions) for i in alternatives if i not in named)


def _affirmed(tokens: Utterance, end: int) -> bool:
    """ "Mustard no, honey mustard yes": what the "no" was said of, no rule tells."""
    return end < len(tokens) and tokens[end].folded in tokens.language.affirming and not tokens[end - 1].after


def _alone(tokens: Utterance, first: int, end: int) -> bool:
    """Whether an option is all that is wished for with its item; what else comes with it, nobody said."""
    if first > 0 and tokens[first - 1].folded in tokens.language.only:
        return True
    follows = end < len(tokens) and not tokens[end - 1].after
    return follows and tokens[end].folded in tokens.language.only_after


def _between(at: int, tokens: Utterance, mentions: list[Span]) -> bool:
    """Whether the "or" at `at` stands between two things of one kind, neither of which is refused."""
    if at == 0 or at + 1 == len(tokens) or tokens[at + 1].folded in tokens.language.no_choice:
        return False
    if all(number_value(tokens[i].folded, tokens.language) for i in (at - 1, at + 1)):
        return True
    if tokens[at - 1].after in SENTENCE_ENDS:
        return False
    places = [(span(tokens, m), m.kind) for m in mentions]
    before = {kind: first for (first, end), kind in places if at - _NEAR < end <= at}
    after = {kind for (first, _), kind in places if at < first <= at + _NEAR}
    return any(not _refused(tokens, before[kind]) for kind in before.keys() & after)


def _refused(tokens: Utterance, first: int) -> bool:
    """Whether a word like "no" stands before the name that begins at `first`, or before those it goes on."""
    for i in reversed(range(max(0, first - _LIST), first)):
        if tokens[i].after in SENTENCE_ENDS:
            return False
        if tokens.language.amounts.get(tokens[i].folded) is Amount.NONE:
            return True
    return False
