"""Words that leave a choice open: "a latte or a mocha", "I was going to get one", "with just ketchup"."""

from __future__ import annotations

from schemas.cart import Amount
from schemas.evidence import Mention
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance, span
from services.reading.language.english import AMOUNTS, NO_CHOICE, ONLY
from services.reading.language.talk import WEIGHED
from services.reading.values.numbers import number_value

_NEAR = 3  # words between "or" and what it stands between
_LIST = 6  # words of a list that a "no" may begin


def weighs(text: str, tokens: Utterance, mentions: list[Mention]) -> bool:
    """Whether the words leave a choice open, or tell of another order than this one."""
    if WEIGHED.search(text) and mentions:
        return True
    if any(_affirmed(tokens, span(tokens, m)[1]) for m in mentions if m.kind == "option"):
        return True
    if any(_alone(tokens, *span(tokens, m)) for m in mentions if m.kind == "option"):
        return True
    named = {i for m in mentions for i in range(*span(tokens, m))}
    return any(
        token.folded == "or" and i not in named and _between(i, tokens, mentions)
        for i, token in enumerate(tokens)
    )


def _affirmed(tokens: Utterance, end: int) -> bool:
    """ "Mustard no, honey mustard yes": what the "no" was said of, no rule tells."""
    return end < len(tokens) and tokens[end].folded in ("yes", "yeah") and not tokens[end - 1].after


def _alone(tokens: Utterance, first: int, end: int) -> bool:
    """Whether an option is all that is wished for with its item; what else comes with it, nobody said."""
    after = tokens[end : end + 1] if not tokens[end - 1].after else []
    return any(token.folded in ONLY for token in tokens[max(0, first - 1) : first]) or any(
        token.folded == "only" for token in after
    )


def _between(at: int, tokens: Utterance, mentions: list[Mention]) -> bool:
    """Whether the "or" at `at` stands between two things of one kind, neither of which is refused."""
    if at == 0 or at + 1 == len(tokens) or tokens[at + 1].folded in NO_CHOICE:
        return False
    if number_value(tokens[at - 1].folded) and number_value(tokens[at + 1].folded):
        return True
    places = [(span(tokens, m), m.kind) for m in mentions]
    before = {kind: first for (first, end), kind in places if at - _NEAR < end <= at}
    after = {kind for (first, _), kind in places if at < first <= at + _NEAR}
    if any(token.after in SENTENCE_ENDS for token in tokens[at - 1 : at]):
        return False
    return any(not _refused(tokens, before[kind]) for kind in before.keys() & after)


def _refused(tokens: Utterance, first: int) -> bool:
    """Whether a word like "no" stands before the name that begins at `first`, or before those it goes on."""
    for i in range(max(0, first - _LIST), first):
        ended = any(token.after in SENTENCE_ENDS for token in tokens[i:first])
        if AMOUNTS.get(tokens[i].folded) is Amount.NONE and not ended:
            return True
    return False
