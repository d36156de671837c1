"""What becomes of an order and why: accepted, one question to its customer, or a person's look.

`services/checks/decide.py` makes a `Decision`, which the order keeps whole.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel, ConfigDict, Field

from schemas.cart import CartDraft
from schemas.question import Question
from schemas.review import ReviewReason


class _Value(BaseModel):
    model_config = ConfigDict(frozen=True)


class Agreement(StrEnum):
    """How the model's reading stands to that of the rules."""

    AGREED = "agreed"  # both one cart, and no rule doubts it
    CONFIDENT = "confident"  # the rules leave it open, and the model is sure enough
    UNSURE = "unsure"  # the rules leave it open, and the model is not
    DIFFER = "differ"  # the rules have no doubt, and the model comes to another cart


class SecondTranscript(StrEnum):
    """What the words of a second recognizer, read likewise, say about the cart."""

    UNUSED = "unused"  # there are none, they were not needed, or they say nothing
    SAME_CART = "same_cart"  # they come to the cart that was settled
    SAME_QUESTION = "same_question"  # they come to one of the carts that the customer is asked about


class UnsurePiece(_Value):
    """A number or name of the model's answer, and its probability (0..1)."""

    text: str
    probability: float


class Readings(_Value):
    """What rules and model made of the same words; an order keeps it from decoding to the end."""

    agreement: Agreement
    answer: str = Field(default="", description="the model's answer, as it was written")
    probability: float = Field(default=0.0, description="of the whole answer; 0: overruled, or untrained")
    unsure: tuple[UnsurePiece, ...] = ()
    other: CartDraft | None = Field(default=None, description="the other cart, where they differ")
    second_transcript: SecondTranscript = SecondTranscript.UNUSED

    @property
    def settled(self) -> bool:
        """Whether the words leave no doubt about the cart."""
        return self.agreement in (Agreement.AGREED, Agreement.CONFIDENT)


class Verdict(StrEnum):
    """Where an order goes."""

    ACCEPTED = "accepted"
    ASKS = "asks"
    NEEDS_REVIEW = "needs_review"


class Doubt(_Value):
    """One reason for a question or a review: the code of the finding or reason, and a sentence."""

    code: str
    message: str


class Basis(_Value):
    """What a decision rests on; probabilities 0..1, null where there is none."""

    transcript_confidence: float
    cart_probability: float | None = None
    least_field_confidence: float | None = None
    agreement: Agreement | None = None
    second_transcript: SecondTranscript = SecondTranscript.UNUSED


class Decision(_Value):
    """What became of an order when it was validated."""

    verdict: Verdict
    question: Question | None = None
    reasons: tuple[ReviewReason, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    basis: Basis


class Policy(_Value):
    """What a shop accepts without a look. Confidences are calibrated, 0..1; amounts in minor units."""

    asr_threshold: float
    field_threshold: float
    max_total: float
    max_total_asked: float = Field(description="up to which a doubted cart is its customer's to settle")
    ask_from: float = Field(
        default=0.5, description="probability of the model's cart from which its customer is shown it"
    )
    confirm: bool = Field(default=False, description="whether the customer sees every cart first")
