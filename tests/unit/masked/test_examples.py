"""The examples of the masked call: their gold rows, what their masks refuse, and what counts as exact."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

import pytest
from llguidance import LLMatcher

from services.clients.masked.saycart_masked import BYTES, Mask
from services.examples import fields, triage
from services.examples.registered import EXAMPLES, TASKS
from services.examples.runner import Example

NO_CONTACT = {"phone": None, "country": None, "since": None, "reference": None}
TICKET = {"category": "login", "priority": "high", "needs_human": True}


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def allowed(mask: Mask, texts: Iterable[str]) -> list[str]:
    """Return the texts that the mask accepts."""
    return list(filter(mask.walker(), texts))


@pytest.mark.parametrize("example", EXAMPLES, ids=list(TASKS))
def test_gold_can_be_written_is_exact_and_is_not_in_the_prompt(example: Example[Any]) -> None:
    rows = example.rows()
    assert 12 <= len(rows) == len({row.id for row in rows}) == len({row.text for row in rows}) <= 20
    assert not {row.text for row in rows} & {text for text, _ in example.task.examples}
    answers = [compact(row.gold) for row in rows]
    assert allowed(example.task.output.mask, answers) == answers
    values = [example.task.output.read(text) for text in answers]
    assert all(example.exact(value, row.gold) for value, row in zip(values, rows, strict=True))
    others = [*values[1:], values[0]]
    assert not all(example.exact(value, row.gold) for value, row in zip(others, rows, strict=True))


def test_a_priority_is_one_of_three_and_never_urgent() -> None:
    texts = [compact({**TICKET, "priority": word}) for word in ("low", "medium", "high")]
    urgent = [compact({**TICKET, "priority": word}) for word in ("urgent", "Urgent", "URGENT", " high", None)]
    assert allowed(triage.TASK.output.mask, [*texts, *urgent]) == texts
    begun = '{"category":"login","priority":"'
    matcher = LLMatcher(BYTES, triage.TASK.output.mask.lark)
    assert matcher.try_consume_tokens(BYTES.tokenize_str(begun + "urgent")) == len(begun)


@pytest.mark.parametrize(
    ("field", "good", "bad"),
    [
        ("phone", "+4915123456789", ["4915123456789", "+0151234567", "+49 151 234567", "+123456", ""]),
        ("country", "DE", ["de", "Germany", "ZZ"]),
        ("since", "2024-02-29", ["2023-02-29", "2024-04-31", "0000-01-01", "1.2.2024"]),
        ("reference", "5f0c7a52-9d1e-4b7e-8a53-2f6f1f0f3c11", ["5f0c7a529d1e4b7e8a532f6f1f0f3c11", "none"]),
    ],
)
def test_a_field_has_its_form(field: str, good: str, bad: list[str]) -> None:
    texts = [compact({**NO_CONTACT, field: value}) for value in (good, *bad)]
    assert allowed(fields.TASK.output.mask, texts) == texts[:1]
