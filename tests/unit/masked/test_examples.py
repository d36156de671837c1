"""The examples of the masked call: their gold rows, what their masks refuse, and what counts as exact."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from itertools import islice
from typing import Any

import pytest
from llguidance import LLMatcher

from services.clients.masked.saycart_masked import BYTES, Mask
from services.examples import fields, query, triage
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
    answers = [row.gold if example is query.EXAMPLE else compact(row.gold) for row in rows]
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


def test_every_query_of_the_mask_runs_within_its_bound() -> None:
    texts = list(islice(query.TASK.output.mask.texts(random.Random(4), on=0.97), 300))
    connection = query.shop(1)
    for text in texts:
        assert len(text) <= query.LONGEST
        connection.execute(text.decode()).fetchall()
    for clause in (" WHERE ", " GROUP BY ", " ORDER BY ", " LIMIT ", " JOIN ", " LIKE ", " OR ", "SUM("):
        assert any(clause.encode() in text for text in texts), clause


def test_no_query_writes_or_names_what_is_not_there() -> None:
    texts = [
        "SELECT placed_on FROM products",
        "SELECT name FROM orders",
        "SELECT name FROM staff",
        "SELECT order_id FROM orders WHERE status = 'sent'",
        "SELECT order_id FROM orders WHERE placed_on > 5",
        "SELECT status, COUNT(*) FROM orders GROUP BY order_id",
        "SELECT name FROM products; DELETE FROM products",
        "DELETE FROM orders",
        "SELECT name FROM products WHERE",
    ]
    assert allowed(query.TASK.output.mask, texts) == []
