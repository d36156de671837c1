"""The outcomes of predicted orders after an honest customer's answers."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.compare import canonical
from schemas.priced_cart import Finding
from schemas.question import Choice, Question
from services.learning.evaluation.answering import COUNTED, outcomes
from services.validation.questions import RIGHT
from tests.unit.evaluation_rows import prediction

WORST_CASE = "wrong, unseen, if nobody ever said that none is right"


def asked(sku: str) -> dict[str, Any]:
    """A row sent to review, with a question about the whole order."""
    answers = [{"id": "yes", "text": "yes"}, {"id": "no", "text": "no"}]
    row = prediction("a", sku, review="reading_unsure")
    row["question"] = {"id": RIGHT, "text": "Is this right?", "answers": answers}
    return row


@pytest.mark.parametrize(
    ("row", "counted"),
    [
        (prediction("a"), {"exact", "exact after the answers"}),
        (prediction("a", "mocha"), {"wrong, unseen", WORST_CASE}),
        (
            prediction("a", review="missing_size"),
            {"exact", "to a human", "exact after the answers", "of them needless"},
        ),
        (
            prediction("a", review="not_on_menu"),
            {"exact", "to a human", "exact after the answers"},
        ),
        (prediction("a", "mocha", review="missing_size"), {"to a human"}),
        (asked("mocha"), {"asked one question", "to a human", WORST_CASE}),
        (asked("latte"), {"exact", "asked one question", "exact after the answers"}),
    ],
)
def test_an_honest_customer_takes_the_cart_that_is_meant_or_none(
    row: dict[str, Any], counted: set[str]
) -> None:
    labels = outcomes(row, canonical([{"sku": "latte", "quantity": 1}]))
    assert set(labels) == counted
    assert len(labels) == len(counted)
    assert counted <= set(COUNTED)


def test_a_question_about_a_field_that_was_answered_may_leave_another_wrong() -> None:
    row = prediction("a", "mocha", review="size_unclear")
    choices = [{"id": "small", "text": "small"}, {"id": "large", "text": "large"}]
    row["question"] = {"id": "0/size", "text": "Small or large?", "answers": choices}
    assert "wrong, unseen" in outcomes(row, canonical([{"sku": "latte", "quantity": 1, "size": "large"}]))
    row["cart"]["lines"][0]["sku"] = "latte"
    assert "exact after the answers" in outcomes(
        row, canonical([{"sku": "latte", "quantity": 1, "size": "large"}])
    )


def test_every_open_choice_of_an_order_is_answered() -> None:
    row = prediction("a", review="missing_size")
    first = row["cart"]["lines"][0] | {"size": None}
    row["cart"]["lines"] = [first, first | {"sku": "mocha"}]
    row["findings"] = [
        Finding.blocking("missing_size", "?", number, size_of(number)).model_dump(mode="json")
        for number in range(2)
    ]
    row["question"] = row["findings"][0]["question"]
    meant = [{"sku": sku, "quantity": 1, "size": size} for sku, size in (("latte", "S"), ("mocha", "L"))]
    assert "exact after the answers" in outcomes(row, canonical(meant))


def size_of(number: int) -> Question:
    sizes = (Choice(id="S", text="small"), Choice(id="L", text="large"))
    return Question(id=f"{number}/size", text="Small or large?", answers=sizes)
