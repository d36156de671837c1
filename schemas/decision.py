"""The decision about an order: accepted, a question to its customer, or review by a person.

`services/validation/decide.py` makes it, and the order keeps it whole.
"""

from __future__ import annotations

from enum import StrEnum

from pydantic import BaseModel

from schemas.described import Described
from schemas.question import Question
from schemas.review import ReviewReason
from schemas.shops.settings import Acceptance

ACCEPT, ACCEPT_LITERAL, ASK = 0.997, 0.99, 0.5
"""Minimum probabilities of a cart to be accepted, to be accepted if it is the literal cart
(`services/retrieval/literal.py`), and to be shown to its customer for a yes. Chosen on the tuned menus: the
first accepts 3 wrong carts of 868, the second no other; with the third about 1% of orders would be wrong and
undetected if one customer in four said yes to a wrong cart (docs/training.md)."""


class SecondTranscript(StrEnum):
    """What a second recognizer's words were used for."""

    UNUSED = "unused"  # there are none: the first was sure, or there is no second
    AGREED = "agreed"  # they say the same
    SHOWN = "shown"  # they differ, and the model was shown both


class UnsurePiece(BaseModel, frozen=True):
    """A number or name of the model's answer, and its probability (0..1)."""

    text: str
    probability: float


class Trust(StrEnum):
    """How far the model's probability counts for the cart that was made of its answer."""

    TRUSTED = "trusted"
    UNSEEN = "unseen"  # training had no such order: its customer is asked
    CORRECTED = "corrected"  # the cart isn't what the model wrote: its customer is asked
    OVERRULED = "overruled"  # the mask chose a token against the model: a person looks
    UNTRAINED = "untrained"  # how sure such a model is says little: a person looks


class ModelAnswer(Described, frozen=True):
    """What the language model wrote, and how sure it is of it; an order keeps it from decoding to the end."""

    text: str = ""
    """As it was written."""
    probability: float = 0.0
    """Of the whole text, without the mask."""
    trust: Trust = Trust.TRUSTED
    """How far that counts for the cart."""
    unsure: tuple[UnsurePiece, ...] = ()


class Verdict(StrEnum):
    """Where an order goes."""

    ACCEPTED = "accepted"
    ASKS = "asks"
    NEEDS_REVIEW = "needs_review"


class Doubt(BaseModel, frozen=True):
    """One reason for a question or a review: the code of the finding or reason, and a sentence."""

    code: str
    message: str


class Basis(BaseModel, frozen=True):
    """What a decision rests on; probabilities 0..1, null where there is none. `literal` is true if the cart
    is what the words say literally; `unused` are the words that the menu doesn't explain or the cart doesn't
    have."""

    transcript_confidence: float
    cart_probability: float | None = None
    cart_trust: Trust = Trust.TRUSTED
    literal: bool = False
    second_transcript: SecondTranscript = SecondTranscript.UNUSED
    unused: tuple[str, ...] = ()


class Decision(BaseModel, frozen=True):
    """What became of an order when it was validated."""

    verdict: Verdict
    question: Question | None = None
    reasons: tuple[ReviewReason, ...] = ()
    doubts: tuple[Doubt, ...] = ()
    basis: Basis


class Policy(BaseModel, frozen=True):
    """Limits of what is accepted without a look: a calibrated confidence, 0..1, a sum in minor units, and
    the shop's own settings."""

    asr_threshold: float
    max_total: float
    accepts: Acceptance = Acceptance()

    def of(self, accepts: Acceptance) -> Policy:
        """Return the policy of a shop with these settings."""
        return self.model_copy(update={"accepts": accepts})
