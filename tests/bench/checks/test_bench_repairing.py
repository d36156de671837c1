"""The repair loop, asked over HTTP of a server that answers badly first: calls, tokens, what it is shown."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any
from zlib import crc32

import pytest

from infra.settings import Settings
from schemas.transcript import Transcript
from services.bootstrap import bootstrap
from services.engines.ports import Recording
from tests.bench.chat import Answer, Chat
from tests.bench.claim.ears import Stopwatch, TimedEars
from tests.bench.claim.outcomes import Outcome, outcome
from tests.bench.claim.pipelines import Bench
from tests.bench.claim.spoken import Spoken, recordings
from tests.bench.orders import sample
from tests.bench.repairing import RETRIES, repaired
from tests.bench.techniques.methods import BY_NAME
from tests.servers.staged_server import completion, staged_server

GOOD = '{"items":[{"item":"latte","quantity":1,"size":"S"}]}'
BY_NAME_OF_SIZE = GOOD.replace('"S"', '"small"')
COMMA = GOOD.replace('"S"}', '"S",}')


class Staged:
    """A server that gives its `script` in turns, and keeps each request's body."""

    def __init__(self, script: list[str]) -> None:
        self.script, self.asked = script, list[dict[str, Any]]()


@contextmanager
def staged(*script: str) -> Iterator[tuple[str, Staged]]:
    told = Staged(list(script))

    def answer(body: dict[str, Any]) -> tuple[int, bytes]:
        told.asked.append(body)
        turn = len(told.asked)
        usage = {"prompt_tokens": 100 * turn, "completion_tokens": 10 * turn}
        return completion(told.script[turn - 1], usage=usage)

    with staged_server(answer) as server:
        yield server.url, told


class Says:
    """A recogniser that hears one sentence."""

    def load(self) -> None: ...

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        return Transcript(text="A small latte, please.", confidence=0.9, language="en")

    def transcribe_fitted(self, recording: Recording, language: str) -> None: ...

    transcribe_denoised = transcribe_fitted

    def quiet_words(self, recording: Recording, language: str) -> str:
        return ""

    def hear_again(self, recording: Recording, first: Transcript, hints: Any) -> Transcript:
        return first


def small_latte() -> Spoken:
    return next(one for one in recordings() if one.id == "hc-t-001")


def through(
    method: str, script: list[str], tmp_path: Path, temperature: float = 0.0
) -> tuple[Outcome, Staged]:
    """A recording through a pipeline, before a server with this script."""
    with staged(*script) as (url, told):
        watch = Stopwatch()
        tools = bootstrap(Settings(home=tmp_path / "home")).tools
        ears = TimedEars(Says(), "says", tmp_path / "heard", watch)
        bench = Bench(replace(tools, transcriber=lambda: ears), watch, url, "llama.cpp", "staged")
        one = small_latte()
        return outcome(bench.pipeline(method, temperature).row(one, one.file)), told


@pytest.mark.parametrize(
    ("script", "kinds", "exact"),
    [
        ([GOOD], (None, None), True),
        ([BY_NAME_OF_SIZE, GOOD], ("size by name", None), True),
        ([COMMA, BY_NAME_OF_SIZE, GOOD], ("trailing comma", None), True),
        ([COMMA, "no", BY_NAME_OF_SIZE, GOOD], ("trailing comma", "size by name"), False),
    ],
)
def test_the_old_pipeline_asks_again_with_the_error_up_to_two_times(
    script: list[str], kinds: tuple[str | None, str | None], exact: bool, tmp_path: Path
) -> None:
    found, told = through("old", script, tmp_path)
    calls = min(len(script), 1 + RETRIES)
    assert (found.first_failure, found.failure) == kinds
    assert (found.calls, len(told.asked), found.exact) == (calls, calls, exact)
    assert found.tokens == sum(10 * turn for turn in range(1, calls + 1))
    assert found.repair_tokens == found.tokens - 10
    assert found.repair_prompt_tokens == found.prompt_tokens - 100
    assert (found.repair_s > 0) == (calls > 1)
    assert all(body["temperature"] == 0 and "grammar" not in body for body in told.asked)


def test_each_repair_shows_the_answer_and_what_was_wrong_with_it(tmp_path: Path) -> None:
    _, told = through("old", [COMMA, BY_NAME_OF_SIZE, GOOD], tmp_path)
    first, second, third = (body["messages"] for body in told.asked)
    assert first[-1] == {"role": "user", "content": "Customer: A small latte, please."}
    assert second[:-2] == first
    assert second[-2] == {"role": "assistant", "content": COMMA}
    assert "not JSON" in second[-1]["content"]
    assert third[:-2] == second
    assert "'small' is none of S, M, L" in third[-1]["content"]


def test_a_masked_answer_is_asked_for_once_with_the_grammar(tmp_path: Path) -> None:
    for method, listed in (("masked", False), ("masked-item", True)):
        found, told = through(method, [BY_NAME_OF_SIZE, GOOD], tmp_path, temperature=0.7)
        assert (found.calls, found.failure) == (1, "size by name")  # a mask that is not applied is seen
        body = told.asked[0]
        assert ("flat white" in body["grammar"]) == listed
        assert (body["temperature"], body["top_p"], body["seed"]) == (0.7, 1.0, crc32(b"hc-t-001"))


def test_ours_asks_nobody_where_the_words_leave_one_cart(tmp_path: Path) -> None:
    found, told = through("ours", [], tmp_path)
    assert (found.exact, found.asked, told.asked) == (True, False, [])


def test_the_techniques_repair_by_the_same_loop() -> None:
    order = next(order for order in sample(1000) if order.id == "hc-t-001")
    with staged("nonsense", '{"lines":[]}') as (url, told):
        answers = BY_NAME["repair"].ask(Chat(url, "staged"), order, {"temperature": 0})
    assert [answer.text for answer in answers] == ["nonsense", '{"lines":[]}']
    assert "this is not JSON" in told.asked[1]["messages"][-1]["content"]


def test_a_refusal_is_shown_and_asked_again_too() -> None:
    class Refuses:
        def ask(self, chat: list[dict[str, str]], **body: Any) -> Answer:
            return Answer("too long", "refused", 0, 0, 0, 0.1)

    answers = repaired(Refuses(), [], {}, lambda answer: answer.text)  # type: ignore[arg-type]
    assert len(answers) == 1 + RETRIES


def test_a_hearing_is_made_once_and_its_time_kept(tmp_path: Path) -> None:
    one, heard = small_latte(), []

    class Counts(Says):
        def transcribe(self, recording: Recording, language: str) -> Transcript:
            heard.append(language)
            return super().transcribe(recording, language)

    def hear(folder: Path | None) -> Stopwatch:
        watch = Stopwatch()
        ears = TimedEars(Counts(), "counts", folder, watch)
        ears.transcribe(Recording(one.file, lambda file: None), "en")  # type: ignore[arg-type,return-value]
        return watch

    first, again = hear(tmp_path), hear(tmp_path)
    assert len(heard) == 1
    assert first.heard == again.heard > 0
    assert first.spent >= first.heard
    live = hear(None)
    assert len(heard) == 2
    assert live.spent >= live.heard > 0
