"""What outcomes of an order, as the gate keeps and compares it."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Literal, Self

from schemas.compare import canonical
from services.learning.evaluation.answering import outcomes
from services.learning.evaluation.run import predict
from services.pipeline.ports import Tools
from tests.gate.sets import Order, meant

Decision = Literal["accepted", "asked", "human"]


@dataclass(frozen=True, slots=True)
class Row:
    """One order's outcome.

    `exact` is the proposed cart; `right`, `undetected` and `human` are counted once a simulated customer has
    answered (`services.learning.evaluation.answering`). `cart` is canonical and sorted.
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
    """Return the prediction row of an order; of a spoken one `audio` is the recordings' folder."""
    return predict(order.gold, order.menu, tools, audio)


def outcome(order: Order, made: dict[str, Any]) -> Row:
    """Return what a prediction row comes to."""
    counted, question = outcomes(made, meant(order)), made["question"]
    return Row(
        id=order.id,
        cart=_sorted(made["cart"]["lines"]),
        decision="asked" if question else "human" if made["decision"] == "review" else "accepted",
        question=question["id"] if question else None,
        answers=[answer["id"] for answer in question["answers"]] if question else [],
        reasons=sorted(made["reasons"]),
        findings=sorted({f"{found['severity']} {found['code']}" for found in made["findings"]}),
        exact="exact" in counted,
        right="exact after the answers" in counted,
        undetected="wrong, unseen" in counted,
        human="to a human" in counted,
    )


def _sorted(lines: list[dict[str, Any]]) -> list[Any]:
    found = [
        [quantity, kind, sku, size, sorted(list(option[:4]) for option in options)]
        for (kind, sku, size, options), quantity in canonical(lines).items()
    ]
    return sorted(found, key=str)
