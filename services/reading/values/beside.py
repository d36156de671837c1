"""The amount that is said right beside an option: "light ice", "the sauce light", "whip no thank you"."""

from __future__ import annotations

from schemas.cart import Amount
from services.reading.chart.tokens import Utterance
from services.reading.values.numbers import number_value

_NEAR = 3  # words before an option in which its amount is looked for


def amounts_beside(tokens: Utterance, first: int, end: int, taken: set[int]) -> set[Amount]:
    """Amount words right before the option, or right after it ("the sauce light"). Directly beside it an
    amount is meant; with a comma between ("no, oat milk") it may as well be something else."""
    said = tokens.language
    for at in range(first - 1, max(first - _NEAR, 0) - 1, -1):
        word = tokens[at].folded
        if at in taken:
            break
        if word in said.further and _how_many_more(tokens, at, first, taken):
            return set()  # "an extra shot" is one shot, "two more shots" two, "extra foam" much of it
        if word in said.amounts:
            return _amount_at(tokens, at, taken)
        if word not in said.amount_fillers or tokens[at].after:
            break
    if _refused_after(tokens, end, taken):
        return {Amount.NONE}
    if _little_after(tokens, end, taken):
        return {Amount.LIGHT}
    return _amount_after(tokens, end, taken)


def _amount_at(tokens: Utterance, at: int, taken: set[int]) -> set[Amount]:
    """What the amount word at `at` says of the option after it."""
    said, word, sure = tokens.language, tokens[at].folded, not tokens[at].after
    if word in said.much:
        negated = any(t.folded in said.negations for t in tokens[max(at - 2, 0) : at])
        return {Amount.LIGHT if negated else Amount.EXTRA}
    # "A little bit of", "no more": the outer word decides when it negates.
    if sure and at > 0 and at - 1 not in taken and tokens[at - 1].folded in said.amounts:
        outer = said.amounts[tokens[at - 1].folded]
        return {outer if outer is Amount.NONE else said.amounts[word]}
    return {said.amounts[word]} if sure else {said.amounts[word], Amount.NORMAL}


def _amount_after(tokens: Utterance, end: int, taken: set[int]) -> set[Amount]:
    """ "The sauce light": an amount right after the option, which no name follows that it may belong to."""
    if end >= len(tokens) or end in taken or tokens[end - 1].after:
        return set()
    word = tokens[end].folded
    followed = end + 1 < len(tokens) and end + 1 in taken and not tokens[end].after
    after = word in tokens.language.amounts_after and not followed
    return {tokens.language.amounts[word], Amount.NORMAL} if after else set()


def _how_many_more(tokens: Utterance, at: int, first: int, taken: set[int]) -> bool:
    """Whether an article or a number before "extra" counts the option that begins at token `first`."""
    said = tokens.language
    by = at - 1 - (at > 1 and tokens[at - 1].folded in said.partitive)  # "a couple of extra shots"
    if by < 0 or by in taken or tokens[by].after:
        return False
    word = tokens[by].folded
    value = 1 if word in said.indefinite_articles else number_value(word, said)
    # "The medium one extra hot".
    pronoun = value == 1 and by - 1 in taken and not tokens[by - 1].after
    return value is not None and (not pronoun or tokens[first].folded in said.measures)


def _little_after(tokens: Utterance, end: int, taken: set[int]) -> bool:
    """ "Vanilla, just a touch"; "a touch of cinnamon" is of what follows."""
    if tokens[end - 1].after not in ("", ","):
        return False
    said = tokens.language
    at = end + (end < len(tokens) and tokens[end].folded in said.only)
    words = [t.folded for t in tokens[at : at + 2]]
    if (
        not words
        or words[0] not in said.indefinite_articles
        or said.amounts.get(words[-1]) is not Amount.LIGHT
    ):
        return False
    if taken & {at, at + 1}:
        return False
    closes = at + 2 == len(tokens) or bool(tokens[at + 1].after)
    return closes or tokens[at + 2].folded in said.conjunctions | said.closing


def _refused_after(tokens: Utterance, end: int, taken: set[int]) -> bool:
    """ "Ham off", "whip no thank you", "foam please no": a refusal that nothing follows which it could lead
    to."""
    said = tokens.language
    if end >= len(tokens) or end in taken or tokens[end - 1].after not in ("", ","):
        return False
    if tokens[end - 1].after and tokens[end].folded not in said.taken_off:
        return False
    at = end + (tokens[end].folded in said.please)
    if at >= len(tokens) or at in taken:
        return False
    if tokens[at].folded in said.taken_off:
        return _closes(tokens, at) or at + 1 in taken
    return tokens[at].folded in said.refusals and _closes(tokens, at) and not tokens[at].after


def _closes(tokens: Utterance, at: int) -> bool:
    """Whether what was said ends with the token at `at`: "garlic no sorry honey" takes the garlic back."""
    if at + 2 < len(tokens) and tokens[at + 1].folded in tokens.language.apologies:
        return bool(tokens[at + 1].after)
    ended = at + 1 == len(tokens) or bool(tokens[at].after)
    return ended or tokens[at + 1].folded in tokens.language.closing
