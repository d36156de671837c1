"""Outcomes of orders, as the gate stores and compares them."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from schemas.compare import canonical
from services.learning.evaluation.answering import outcomes
from services.learning.evaluation.run import predict
from services.pipeline.stages import Tools
from tests.gate.sets import Order, gold_cart

Decision = Literal["accepted", "asked", "human"]


@dataclass(frozen=True, slots=True)
class Row:
    """An order's outcome.

    `exact` refers to the proposed cart; `right`, `undetected` and `human` to the state after a simulated
    customer's answers (`services.learning.evaluation.answering`). `cart` is canonical and sorted.
    """

    id: str
    cart: list[Any]
    decision: Decision
    question: str | None
    answers: list[str]
    reasons: list[str]
    findings: list[str]
    exact: bool
    right: bool
    undetected: bool
    human: bool

    @property
    def asked(self) -> bool:
        return self.decision == "asked"

    def document(self) -> dict[str, Any]:
        return asdict(self)

    @classmethod
    def of(cls, document: dict[str, Any]) -> Self:
        return cls(**document)


def run(order: Order, tools: Tools, audio: Path | None) -> dict[str, Any]:
    """Return an order's prediction row; `audio` is the folder of recordings."""
    return predict(order.gold, order.menu, tools, audio)


def outcome(order: Order, prediction: dict[str, Any]) -> Row:
    """Return the outcome of a prediction row."""
    counted, question = outcomes(prediction, gold_cart(order)), prediction["question"]
    return Row(
        id=order.id,
        cart=_sorted(prediction["cart"]["lines"]),
        decision="asked" if question else "human" if prediction["decision"] == "review" else "accepted",
        question=question["id"] if question else None,
        answers=[answer["id"] for answer in question["answers"]] if question else [],
        reasons=sorted(prediction["reasons"]),
        findings=sorted({f"{one['severity']} {one['code']}" for one in prediction["findings"]}),
        exact="exact" in counted,
        right="exact after the answers" in counted,
        undetected="wrong, unseen" in counted,
        human="to a human" in counted,
    )


def _sorted(lines: list[dict[str, Any]]) -> list[Any]:
    rows = [
        [quantity, kind, sku, size, sorted(list(option[:4]) for option in options)]
        for (kind, sku, size, options), quantity in canonical(lines).items()
    ]
    return sorted(rows, key=str)
