"""The one question that settles an order: asked of the customer, answered with an id from the menu."""

from __future__ import annotations

from pydantic import BaseModel, ConfigDict, Field


class Choice(BaseModel):
    """One answer. `id` is a size, option or sku of the order's menu version."""

    model_config = ConfigDict(frozen=True)

    id: str
    text: str = Field(description="as the menu names it")


class Question(BaseModel):
    """What is still open about one field of one line ("Small or large latte?"), with all possible answers."""

    model_config = ConfigDict(frozen=True)

    id: str = Field(description="line and field: `0/size`, `1/sku`, `0/options/milk`")
    text: str
    answers: tuple[Choice, ...] = Field(min_length=2)


class CustomerAnswer(BaseModel):
    """`POST /v1/orders/{id}/answer`."""

    model_config = ConfigDict(extra="forbid")

    question: str = Field(description="id of the question that was asked")
    answer: str = Field(description="id of the answer that was chosen")
