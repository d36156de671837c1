"""Triage: complete the order, or ask a human. Any doubt asks; nothing here loosens anything."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Finding
from schemas.review import ReviewReason
from schemas.transcript import Transcript


def doubts(
    transcript: Transcript, findings: Iterable[Finding], *, asr_threshold: float
) -> tuple[ReviewReason, ...]:
    """Why a human should look; empty when nobody needs to. `asr_threshold` is a calibrated confidence."""
    codes = {f.code for f in findings if f.blocks}
    reasons = [ReviewReason.ALLERGY_SAID] if "allergy_said" in codes else []
    if transcript.nothing_was_said:
        reasons.append(ReviewReason.NOTHING_HEARD)
    elif transcript.confidence < asr_threshold:
        reasons.append(ReviewReason.LOW_ASR_CONFIDENCE)
    if "not_on_menu" in codes:
        reasons.append(ReviewReason.NOT_ON_MENU)
    if codes - {"not_on_menu", "nothing_heard", "allergy_said"}:
        reasons.append(ReviewReason.BLOCKING_FINDING)
    return tuple(reasons)
