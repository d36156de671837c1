"""A question that the customer can settle: answered with one of its own ids; and what staff may ask."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, StringConstraints, model_validator

from schemas.writable import only_printed

BY_STAFF, SAY_AGAIN = "staff/", "staff/again"
"""How the id of a question in a reviewer's words begins, and the id of the one that asks for the whole order
again, which has no answers: the customer says or types it."""


class Choice(BaseModel):
    """One answer. `id` is a size or option of the order's menu version; of a question about the whole
    order `yes` or `no`."""

    model_config = ConfigDict(frozen=True)

    id: str
    text: str = Field(description="as the menu names it, or yes or no in words")
    price: int | None = Field(
        default=None,
        description="in minor units: what one of the item costs with this answer; null for yes and no",
    )
    price_is_minimum: bool = Field(
        default=False, description="true while something else about the item is open"
    )


class Question(BaseModel):
    """What is still open about one field of one line ("Small or large latte?"), with all possible answers; or
    whether the whole cart is right, right without what can't be had, or nothing was ordered; or what a
    reviewer asks."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(
        description="line and field: `0/size`, `0/options/milk`; of the whole order `order/right`, "
        "`order/rest`, `order/nothing`; of a reviewer `staff/again` or `staff/` and a number"
    )
    text: str
    answers: tuple[Choice, ...] = Field(
        description="two or more; none of `staff/again`, after which the order is sent again to `/utterances`"
    )

    @property
    def whole(self) -> bool:
        """Whether it is about the order as a whole."""
        return self.id.startswith("order/")


class CustomerAnswer(BaseModel):
    """`POST /v1/orders/{id}/answer`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"question": "0/size", "answer": "L"}]},
    )

    question: str = Field(description="id of the question that was asked")
    answer: str = Field(description="id of the answer that was chosen")


def _words(most: int) -> tuple[StringConstraints, AfterValidator]:
    constraints = StringConstraints(strip_whitespace=True, min_length=1, max_length=most)
    return constraints, AfterValidator(only_printed)


class StaffQuestion(BaseModel):
    """`POST /v1/reviews/{id}/ask`: a `question` that is ready, or `text` with `answers`."""

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"version": 2, "text": "Which milk?", "answers": ["Oat", "Soy"]}]},
    )

    version: int = Field(ge=1, strict=True, description="of the review as it was read")
    question: str | None = Field(
        default=None, description="`staff/again`, or the id of an open choice in the order's `findings`"
    )
    text: Annotated[str, *_words(120)] | None = Field(default=None, description="in one's own words")
    answers: tuple[Annotated[str, *_words(40)], ...] | None = Field(
        default=None, min_length=2, max_length=4, description="to choose from"
    )

    @model_validator(mode="after")
    def _complete(self) -> StaffQuestion:
        if (self.text is None) != (self.answers is None) or (self.text is None) == (self.question is None):
            raise ValueError("Send `question`, or `text` with `answers`")
        return self
