"""Why a person must look at an order, in staff's words with the customer's."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from schemas.priced_cart import Finding
from schemas.review import ReviewReason
from schemas.sentences.sentences import ENGLISH, sentences
from schemas.wording import unsaid


def in_short(code: str) -> str:
    """Return what a reason or finding comes to, in a few words of English, as staff read."""
    texts = sentences(ENGLISH).texts
    return texts.get(f"doubt_{code}", texts["doubt_blocking_finding"])


def doubt(found: Finding, unsure: Sequence[str] = ()) -> str:
    """Return a finding in staff's words: `sold out: “flan”`. `unsure`: what the model was least sure of."""
    quoted = unsure if found.code == "reading_unsure" else re.findall("“([^”]+)”", found.message)[:1]
    return _quoting(in_short(found.code), quoted)


def staff_doubts(
    reasons: Iterable[ReviewReason], findings: Sequence[Finding], unsure: Sequence[str]
) -> list[str]:
    """Return why a person must look, with the words in doubt; `unsure` are those that were hard to hear."""
    unheard = ReviewReason.LOW_ASR_CONFIDENCE
    shown = [doubt(found, unsure) for found in findings if found.blocks]
    shown += [_quoting(in_short(c), unsure if c is unheard else ()) for c in unsaid(reasons, findings)]
    return list(dict.fromkeys(shown))


def _quoting(doubt: str, words: Sequence[str]) -> str:
    return f"{doubt}: {', '.join(f'“{one}”' for one in words)}" if words else doubt
