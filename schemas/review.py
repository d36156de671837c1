"""Why an order was sent to a human, and what the human may decide."""

from __future__ import annotations

from enum import StrEnum
from typing import Literal

from pydantic import Field, model_validator

from schemas.cart import CartDraft
from schemas.described import Described, Moment

HARD_TO_HEAR = 0.6
"""Probability of a word below which staff are shown that it is in doubt."""


class ReviewReason(StrEnum):
    """Each is a doubt that the machine saw; an order may carry several."""

    ALLERGY_SAID = "allergy_said"
    LOW_ASR_CONFIDENCE = "low_asr_confidence"
    NOTHING_HEARD = "nothing_heard"
    NOT_ON_MENU = "not_on_menu"
    BLOCKING_FINDING = "blocking_finding"
    DECODE_FAILED = "decode_failed"
    DECODE_TRUNCATED = "decode_truncated"
    DECODER_UNAVAILABLE = "decoder_unavailable"
    STAGE_FAILED = "stage_failed"
    TOO_MUCH_TO_READ = "too_much_to_read"


class ReviewDecision(
    Described, extra="forbid", json_schema_extra={"examples": [{"version": 2, "action": "approve"}]}
):
    """What the reviewer settles. `version` is the one read: a stale one is a conflict."""

    version: int = Field(ge=1, strict=True)
    action: Literal["approve", "correct", "reject"]
    cart: CartDraft | None = None
    """The whole cart, for `correct` only; without `notes` those of the proposal stay."""
    reason: str | None = Field(default=None, max_length=500)
    """Needed for `reject`."""

    @model_validator(mode="after")
    def _complete(self) -> ReviewDecision:
        if (self.action == "correct") != (self.cart is not None):
            raise ValueError("`cart` goes with `correct`, and only with it")
        if self.action == "reject" and not (self.reason or "").strip():
            raise ValueError("`reject` needs a `reason`")
        return self


class Review(Described):
    """One review as the API shows it; times RFC 3339 UTC."""

    id: str
    order_id: str
    status: Literal["open", "claimed", "decided", "withdrawn", "unknown"]
    """`unknown`: as a later release left it, which settles it."""
    reasons: list[ReviewReason]
    version: int
    claimed_by: str | None = None
    lease_until: Moment | None = None
    """Of the claim; while `open`, until when its customer is asked."""
    decision: str | None = None
    decided_by: str | None = None
    decided_at: Moment | None = None
    reason: str | None = None
    created_at: Moment
