"""The examples' runner against a staged server, and every example on a real model, the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from services.decoding.calls import Calls
from services.decoding.completion import Completions
from services.examples import __main__ as command
from services.examples.runner import figures, run
from services.examples.triage import EXAMPLE
from tests.servers.staged_server import StagedServer, completion, staged_server

MODEL = "smollm2-135m-instruct-q4_1.gguf"
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
    engine = Completions(Calls(server.url, timeout_s=5), "llama.cpp", "m")
    (asked,) = run(EXAMPLE, engine, limit=1)
    found = figures([asked])
    assert (found.rows, found.valid, found.exact) == (1, valid, exact)
    assert (found.milliseconds is None) == (not valid)
    (body,) = server.bodies
    assert body["grammar"] == EXAMPLE.task.output.mask.lark


def test_the_command_says_what_it_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    assert command.main(["poetry"]) == 2
    assert "known are triage" in capsys.readouterr().err
    assert command.main(["triage", "--model", "absent.gguf"]) == 2
    assert "absent.gguf" in capsys.readouterr().err
    assert command.main(["triage", "--limit", "1", "--url", "http://127.0.0.1:9"]) == 2
    assert capsys.readouterr().err
