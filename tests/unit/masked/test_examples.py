"""The examples of the masked call: their gold rows, and what counts as exact."""

from __future__ import annotations

import json
from typing import Any

import pytest

from services.examples.registered import EXAMPLES, TASKS
from services.examples.runner import Example


@pytest.mark.parametrize("example", EXAMPLES, ids=list(TASKS))
def test_gold_can_be_written_is_exact_and_is_not_in_the_prompt(example: Example[Any]) -> None:
    rows = example.rows()
    assert 12 <= len(rows) == len({row.id for row in rows}) == len({row.text for row in rows}) <= 20
    assert not {row.text for row in rows} & {text for text, _ in example.task.examples}
    answers = [json.dumps(row.gold, ensure_ascii=False, separators=(",", ":")) for row in rows]
    assert all(map(example.task.output.mask.accepts, answers))
    values = [example.task.output.read(text) for text in answers]
    assert all(example.exact(value, row.gold) for value, row in zip(values, rows, strict=True))
    others = [*values[1:], values[0]]
    assert not all(example.exact(value, row.gold) for value, row in zip(others, rows, strict=True))
