"""Why a person must look at an order, in staff's words with the customer's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from schemas.cart import Finding
from schemas.review import ReviewReason
from schemas.wording import reason, unsaid

# Why a finding is a doubt, for staff: at most four words. Its own words follow, as its message quotes them.
_DOUBTS = {
    "allergy_said": "allergy or diet",
    "nothing_heard": "nothing was heard",
    "heard_quietly": "quiet words left out",
    "not_on_menu": "not on the menu",
    "empty_cart": "no order found",
    "nothing_ordered": "nothing was ordered",
    "reading_unsure": "cart not sure",
    "reading_declined": "customer said no",
    "item_unavailable": "sold out",
    "option_unavailable": "sold out",
    "item_outside_hours": "not served now",
    "quantity_over_limit": "too many",
    "option_over_limit": "too many",
    "total_over_limit": "large total",
    "missing_size": "size missing",
    "size_not_offered": "no such size",
    "missing_required_option": "choice missing",
    "too_many_choices": "too many choices",
    "unknown_option": "no such option",
    "option_not_offered": "no such option",
    "option_unclear": "goes with which item",
    "half_not_offered": "not on one half",
    "option_repeated": "option twice",
    "too_much_to_read": "order too long",
}


def doubt(found: Finding, unsure: Sequence[str] = ()) -> str:
    """Return a finding in staff's words: `sold out: “flan”`. `unsure`: what the model was least sure of."""
    quoted = unsure if found.code == "reading_unsure" else re.findall("“([^”]+)”", found.message)[:1]
    return _quoting(_DOUBTS.get(found.code, "order unclear"), quoted)


def staff_doubts(
    reasons: Iterable[ReviewReason], findings: Sequence[Finding], unsure: Sequence[str]
) -> list[str]:
    """Return why a person must look, with the words in doubt; `unsure` are those that were hard to hear."""
    unheard = ReviewReason.LOW_ASR_CONFIDENCE
    shown = [doubt(found, unsure) for found in findings if found.blocks]
    shown += [_quoting(reason(c), unsure if c is unheard else ()) for c in unsaid(reasons, findings)]
    return list(dict.fromkeys(shown))


def _quoting(why: str, words: Sequence[str]) -> str:
    return f"{why}: {', '.join(f'“{one}”' for one in words)}" if words else why
