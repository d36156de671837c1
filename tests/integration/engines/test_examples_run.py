"""The examples' runner against a staged server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.decoding.completion import Completions
from services.examples.runner import run
from services.examples.triage import EXAMPLE
from tests.servers.staged_server import StagedServer, completion, staged_server

RIGHT = '{"category":"other","priority":"low","needs_human":true}'


@pytest.fixture
def server() -> Iterator[StagedServer]:
    with staged_server(lambda _: completion(RIGHT)) as staged:
        yield staged


@pytest.mark.parametrize(
    ("text", "reason", "valid", "exact"),
    [
        (RIGHT, "stop", 1, 1),
        (RIGHT.replace("low", "high"), "stop", 1, 0),
        (RIGHT.replace("low", "urgent"), "stop", 0, 0),
        (RIGHT[:-1], "length", 0, 0),
    ],
)
def test_an_answer_counts_as_valid_and_exact(
    server: StagedServer, text: str, reason: str, valid: int, exact: int
) -> None:
    server.answer = lambda _: completion(text, reason)
    found = run(EXAMPLE, Completions(server.url, model="m", timeout_s=5), limit=1)
    assert (found.rows, found.valid, found.exact) == (1, valid, exact)
    assert (found.milliseconds is None) == (not valid)
    (body,) = server.bodies
    assert body["grammar"] == EXAMPLE.task.output.mask.lark
