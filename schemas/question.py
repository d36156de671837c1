"""A question that the customer can settle: answered with one of its own ids."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


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
    whether the whole cart is right, right without what can't be had, or nothing was ordered."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(
        description="line and field: `0/size`, `0/options/milk`; of the whole order `order/right`, "
        "`order/rest`, `order/nothing`"
    )
    text: str
    answers: tuple[Choice, ...] = Field(min_length=2)

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
