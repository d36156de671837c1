"""The examples of the masked call: their gold rows, what counts as exact, and their runner."""

from __future__ import annotations

import json

import pytest

from services.decoding.completion import Completions
from services.examples.registered import EXAMPLES, TASKS
from services.examples.runner import Example, run
from services.examples.triage import EXAMPLE
from tests.servers.staged_server import completion, staged_server


@pytest.mark.parametrize("example", EXAMPLES, ids=list(TASKS))
def test_gold_can_be_written_is_exact_and_is_not_in_the_prompt(example: Example) -> None:
    rows = example.rows()
    assert 12 <= len(rows) == len({row.id for row in rows}) == len({row.text for row in rows}) <= 20
    assert not {row.text for row in rows} & {text for text, _ in example.task.examples}
    answers = [json.dumps(row.gold, ensure_ascii=False, separators=(",", ":")) for row in rows]
    assert all(map(example.task.output.mask.accepts, answers))
    assert [example.task.output.read(text).model_dump(mode="json") for text in answers] == [
        row.gold for row in rows
    ]


RIGHT = '{"category":"other","priority":"low","needs_human":true}'


@pytest.mark.parametrize(
    ("text", "reason", "valid", "exact"),
    [
        (RIGHT, "stop", 1, 1),
        (RIGHT.replace("low", "high"), "stop", 1, 0),
        (RIGHT.replace("low", "urgent"), "stop", 0, 0),
        (RIGHT[:-1], "length", 0, 0),
    ],
)
def test_an_answer_counts_as_valid_and_exact(text: str, reason: str, valid: int, exact: int) -> None:
    with staged_server(lambda _: completion(text, reason)) as server:
        found = run(EXAMPLE, Completions(server.url, model="m", timeout_s=5), limit=1)
    assert (found.rows, found.valid, found.exact) == (1, valid, exact)
    assert (found.milliseconds is None) == (not valid)
    assert server.bodies[0]["grammar"] == EXAMPLE.task.output.mask.lark
