"""The example's tasks: decide at once; first write down why; decide at once by the guide alone."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from services.examples.example import Example, Row
from services.examples.triage.schema import ReasonedTriage, Triage
from services.masked.output import output_type
from services.masked.task import Task

HERE = Path(__file__).parent
PROMPT = (HERE / "prompt.md").read_text(encoding="utf-8").strip()
ANSWER = "\n\nAnswer with one line of JSON and nothing else, its keys in this order: "
DECISION = "category, priority, needs_human, confidence."
# What is said, why, and what is decided; none of them is a row of gold. Half are low, as most tickets are.
SHOWN: tuple[tuple[str, str, dict[str, Any]], ...] = (
    (
        "URGENT!!! is the bread bin also there in white?",
        "It asks about an article and nothing has gone wrong, whatever it calls itself.",
        {"category": "product", "priority": "low", "needs_human": False, "confidence": 0.95},
    ),
    (
        "Hello, you have booked 18.50 for order 20417 two times. Thanks for putting it right.",
        "Money was taken that is not owed, however friendly it is told.",
        {"category": "billing", "priority": "high", "needs_human": True, "confidence": 0.85},
    ),
    (
        "It would be nice if I could sort my favourites.",
        "A wish for something that the app can't do yet.",
        {"category": "feature_request", "priority": "low", "needs_human": False, "confidence": 0.9},
    ),
    (
        "The set of pans came without lids. Also, I like your new app.",
        "Something is missing from what arrived, and the customer waits for it.",
        {"category": "returns", "priority": "medium", "needs_human": False, "confidence": 0.75},
    ),
    (
        "Thank you, all of it came well packed!",
        "Thanks; nothing has gone wrong.",
        {"category": "other", "priority": "low", "needs_human": False, "confidence": 0.95},
    ),
    (
        "there is some stranger signed in as me, he bought a phone",
        "A stranger is in the account.",
        {"category": "login", "priority": "high", "needs_human": True, "confidence": 0.95},
    ),
    (
        "Do you deliver in the evening?",
        "A question; nothing has gone wrong.",
        {"category": "delivery", "priority": "low", "needs_human": False, "confidence": 0.9},
    ),
    (
        "Whenever I scroll through my orders the app closes itself!!",
        "Something does not work, and the customer waits for us to act.",
        {"category": "bug", "priority": "medium", "needs_human": False, "confidence": 0.9},
    ),
)


def right(value: Triage | ReasonedTriage, row: Row) -> dict[str, bool]:
    """Each of the three decisions against gold, and `right` where all are; confidence is not judged here."""
    marks = {name: getattr(value, name) == wanted for name, wanted in row.gold.items()}
    return {"right": all(marks.values()), **marks}


def _line(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


TRIAGE: Task[Triage] = Task(
    name="triage",
    about="A customer's ticket: category, priority, whether a human has to see it, and confidence",
    output=output_type(Triage),
    prompt=PROMPT + ANSWER + DECISION,
    examples=tuple((said, _line(decided)) for said, _, decided in SHOWN),
)
REASONED: Task[ReasonedTriage] = Task(
    name="triage-reason-first",
    about="The same, with a sentence of reason before the decisions",
    output=output_type(ReasonedTriage),
    prompt=f"{PROMPT}{ANSWER}why (the reason, in a short sentence), {DECISION}",
    examples=tuple((said, _line({"why": why, **decided})) for said, why, decided in SHOWN),
)
UNSHOWN: Task[Triage] = Task(
    name="triage-unshown",
    about="The same by the guide alone, without a single ticket shown",
    output=TRIAGE.output,
    prompt=TRIAGE.prompt,
)
EXAMPLE: Example[Any] = Example("triage", (TRIAGE, REASONED, UNSHOWN), HERE / "gold.jsonl", right)
