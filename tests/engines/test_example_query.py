"""Queries by a real model on its own tokenizer: a tiny one at temperature 1, which knows nothing of SQL."""

from pathlib import Path

import pytest

from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.engines.ports import Sampling
from services.examples.query.running import refusal
from services.examples.query.shop import SHOP
from services.examples.query.task import QUERY
from tests.engines.running import llama

pytestmark = pytest.mark.models


def test_whatever_a_tiny_model_draws_runs_on_sqlite(tmp_path: Path) -> None:
    with llama(tmp_path) as engine:
        completions = Completions(Calls(engine.url, timeout_s=60.0), engine.dialect, engine.model)
        chat = [{"role": "user", "content": "Write SQL about orders."}]
        texts = [
            completions.complete(chat, QUERY.output.mask, sampling=Sampling(1.0, seed)).text
            for seed in range(3)
        ]
    assert [refusal(SHOP.statements(), text) for text in texts] == [""] * 3
    assert len(set(texts)) > 1
