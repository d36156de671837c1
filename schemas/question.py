"""A question that the customer can settle: answered with one of its own ids; and what staff may ask."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from schemas.described import Described
from schemas.writable import printed

BY_STAFF, SAY_AGAIN = "staff/", "staff/again"
"""How the id of a question in a reviewer's words begins, and the id of the one that asks for the whole order
again, which has no answers: the customer says or types it."""


class Choice(Described, frozen=True):
    """One answer. `id` is a size or option of the order's menu version; of a question about the whole
    order `yes`, `no`, or `instead/` and the SKU of another item."""

    id: str
    text: str
    """As the menu names it, or yes or no in words."""
    price: int | None = None
    """In minor units: what one of the item costs with this answer, or, of a question about the whole order,
    what the order costs with it, without what can't be had; else null."""
    price_is_minimum: bool = False
    """True while something else about the item is open."""


class Question(Described, frozen=True):
    """What is still open about one field of one line ("Small or large latte?"), with all possible answers; or
    whether the whole cart is right, right without what can't be had, or nothing was ordered; or what a
    reviewer asks."""

    id: str
    """Line and field: `0/size`, `0/options/milk`; of the whole order `order/right`, `order/rest`,
    `order/nothing`; of a reviewer `staff/again` or `staff/` and a number."""
    text: str
    answers: tuple[Choice, ...]
    """Two or more; none of `staff/again`, after which the order is sent again to `/utterances`."""

    @property
    def whole(self) -> bool:
        """Whether it is about the order as a whole."""
        return self.id.startswith("order/")


class CustomerAnswer(
    Described,
    extra="forbid",
    json_schema_extra={"examples": [{"question": "0/size", "answer": "L", "version": 3}]},
):
    """`POST /v1/orders/{id}/answer`."""

    question: str
    """Id of the question that was asked."""
    answer: str
    """Id of the answer that was chosen."""
    version: int | None = Field(default=None, ge=1, strict=True)
    """Of the order as the customer saw it; a 409 if it has changed. Send it: the question about a whole cart
    has the same id whatever is in the cart."""


class StaffQuestion(
    Described,
    extra="forbid",
    json_schema_extra={"examples": [{"version": 2, "text": "Which milk?", "answers": ["Oat", "Soy"]}]},
):
    """`POST /v1/reviews/{id}/ask`: a `question` that is ready, or `text` with `answers`."""

    version: int = Field(ge=1, strict=True)
    """Of the review as it was read."""
    question: str | None = None
    """`staff/again`, or the id of an open choice in the order's `findings`."""
    text: Annotated[str, *printed(120)] | None = None
    """In one's own words."""
    answers: tuple[Annotated[str, *printed(40)], ...] | None = Field(default=None, min_length=2, max_length=4)
    """To choose from."""

    @model_validator(mode="after")
    def _complete(self) -> StaffQuestion:
        if (self.text is None) != (self.answers is None) or (self.text is None) == (self.question is None):
            raise ValueError("Send `question`, or `text` with `answers`")
        return self
