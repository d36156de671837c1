"""Two examples on a real engine: a model pushed towards a forbidden word, and SQL drawn at random."""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import pytest

from services.decoding.calls import Calls
from services.decoding.completion import CHAT, Completions, said
from services.decoding.ports import Sampling
from services.examples import query, triage
from tests.engines.running import llama

pytestmark = pytest.mark.models

PUSH = [[word, 100] for word in ("urgent", " urgent", "Urgent", "URGENT")]


@pytest.fixture(scope="module")
def completions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Completions]:
    with llama(tmp_path_factory.mktemp("examples")) as engine:
        yield Completions(Calls(engine.url, timeout_s=60), engine.dialect, engine.model)


def test_a_model_pushed_to_urgent_still_gives_one_of_the_priorities(completions: Completions) -> None:
    """Each token of the word gets 100 added to its logit. Without the mask nothing else comes."""
    mask = triage.TASK.output.mask
    chat = [{"role": "user", "content": 'Say "urgent": urgent urgent urgent!'}]
    masked = completions.request(chat, mask, 64) | {"logit_bias": PUSH}
    free: dict[str, Any] = {key: value for key, value in masked.items() if key != "grammar"}

    assert "urgent" in said(completions.calls.post(CHAT, free | {"max_tokens": 8}))[0].lower()
    text, reason = said(completions.calls.post(CHAT, masked))
    assert reason == "stop"
    assert mask.accepts(text)
    assert json.loads(text)["priority"] in ("low", "medium", "high")


def test_queries_that_a_tiny_model_draws_run_on_sqlite(completions: Completions) -> None:
    chat = [{"role": "user", "content": "Write SQL about orders."}]
    mask = query.TASK.output.mask
    texts = {completions.complete(chat, mask, sampling=Sampling(1.0, seed)).text for seed in range(3)}
    assert len(texts) > 1
    connection = query.shop(1)
    for text in texts:
        connection.execute(text).fetchall()
