"""Why a person must look at an order, in staff's words with the customer's."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

from schemas.open_questions import STAFF_ANSWERED, STAFF_ASK
from schemas.priced_cart import Finding
from schemas.records.reviews import QueueEntry
from schemas.review import ReviewReason
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.wording import unsaid
from services.validation.allergy import allergen_in

MOST_IN_ROW = 2
# Findings that quote the customer; what the others quote is on the menu.
_OF_CUSTOMER = frozenset({"allergy_said", "heard_quietly", "not_on_menu", "reading_unsure", STAFF_ANSWERED})


def in_short(code: str) -> str:
    """Return what a reason or finding comes to, in a few words of English, as staff read."""
    texts = sentences(ENGLISH).texts
    return texts.get(f"doubt_{code}", texts["doubt_blocking_finding"])


def doubt(found: Finding, unsure: Sequence[str] = ()) -> str:
    """Return a finding in staff's words: `sold out: flan`. `unsure`: what the model was least sure of."""
    words = re.findall("“([^”]+)”", found.message)[:1]
    if found.code == "allergy_said" and words and (allergen := allergen_in(words[0])):
        return f"allergy: {allergen}"
    if found.code == "reading_unsure":
        words = list(unsure)
    short = in_short(found.code)
    return _quoting(short, words) if found.code in _OF_CUSTOMER else ": ".join([short, *words])


def row_doubts(entry: QueueEntry, now: datetime) -> list[str]:
    """Return why a person must look at an order, as a row of the queue has room for it: what the customer
    answered to a reviewer, if anything, then the first doubts, an allergy before any other."""
    by_customer = {STAFF_ANSWERED} if entry.review.asks(now) else {STAFF_ANSWERED, STAFF_ASK}
    shown = [doubt(found) for found in entry.findings if found.code in by_customer][:1]
    for found in entry.findings:
        if found.code == "reading_unsure" and entry.unused:
            shown.append(f"{_quoted(entry.unused[:2])} unused")
        elif found.blocks:
            shown.append(doubt(found, entry.unsure))
    for cause in unsaid(entry.review.reasons, entry.findings):
        unheard = cause is ReviewReason.LOW_ASR_CONFIDENCE
        shown.append(_quoting(in_short(cause), entry.unsure if unheard else ()))
    return list(dict.fromkeys(shown))[:MOST_IN_ROW]


def _quoting(doubt: str, words: Sequence[str]) -> str:
    return f"{doubt}: {_quoted(words)}" if words else doubt


def _quoted(words: Sequence[str]) -> str:
    return ", ".join(f"“{one}”" for one in words)
