"""Any doubt asks a human; without one the order completes."""

from __future__ import annotations

import pytest

from schemas.cart import Finding, Severity
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.validation.triage import doubts

NOT_ON_MENU = Finding(code="not_on_menu", severity=Severity.BLOCKING, message="a bicycle", line=1)
BLOCKING = Finding(code="missing_size", severity=Severity.BLOCKING, message="Which size?", line=0)
SHOWN = Finding(code="size_defaulted", severity=Severity.INFO, message="medium", line=0)
LOW, NOTHING = ReviewReason.LOW_ASR_CONFIDENCE, ReviewReason.NOTHING_HEARD
OFF, BLOCKED = ReviewReason.NOT_ON_MENU, ReviewReason.BLOCKING_FINDING


@pytest.mark.parametrize(
    ("text", "confidence", "findings", "reasons"),  # at a threshold of 0.72
    [
        ("a latte", 0.99, [], ()),
        ("a latte", 0.72, [], ()),
        ("a latte", 0.7199, [], (LOW,)),
        ("a latte", 0.0, [], (LOW,)),
        ("a latte", 1.0, [SHOWN], ()),
        ("a latte", 1.0, [BLOCKING], (BLOCKED,)),
        ("a latte", 1.0, [NOT_ON_MENU], (OFF,)),
        ("a latte", 1.0, [NOT_ON_MENU, BLOCKING, SHOWN], (OFF, BLOCKED)),
        ("a latte", 0.5, [NOT_ON_MENU, BLOCKING], (LOW, OFF, BLOCKED)),
        ("", 0.0, [], (NOTHING,)),
        ("  ", 1.0, [], (NOTHING,)),
        ("", 0.0, [BLOCKING], (NOTHING, BLOCKED)),
        ("a", 1.0, [BLOCKING] * 5, (BLOCKED,)),
    ],
)
def test_every_doubt_is_a_reason(
    text: str, confidence: float, findings: list[Finding], reasons: tuple[ReviewReason, ...]
) -> None:
    transcript = Transcript(text=text, confidence=confidence)
    assert doubts(transcript, findings, asr_threshold=0.72) == reasons
