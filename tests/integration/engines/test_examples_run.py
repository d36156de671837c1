"""The examples' runner against a staged server, and every example on a real model, the smallest."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from infra.settings import settings
from services.decoding.completion import Completions
from services.examples import __main__ as command
from services.examples.runner import run
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
    found = run(EXAMPLE, Completions(server.url, model="m", timeout_s=5), limit=1)
    assert (found.rows, found.valid, found.exact) == (1, valid, exact)
    assert (found.milliseconds is None) == (not valid)
    (body,) = server.bodies
    assert body["grammar"] == EXAMPLE.task.output.mask.lark


@pytest.mark.parametrize(
    ("names", "setting", "named"),
    [
        (["poetry"], {}, "known are triage"),
        (["triage"], {"LLM_MODEL": "absent.gguf"}, "absent.gguf"),
        (["triage", "--limit", "1"], {"LLM_URL": "http://127.0.0.1:9"}, "did not answer"),
    ],
)
def test_the_command_says_what_it_lacks(
    names: list[str],
    setting: dict[str, str],
    named: str,
    capsys: pytest.CaptureFixture[str],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name, value in setting.items():
        monkeypatch.setenv(f"SAYCART_{name}", value)
    settings.cache_clear()
    assert command.main(names) == 2
    settings.cache_clear()
    assert named in capsys.readouterr().err
