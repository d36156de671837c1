"""No model can say "urgent": not one that wants to, and not one that is pushed to by every means there is."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llguidance import LLMatcher

from infra.settings import settings
from infra.weights.models import resolve
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import CHAT, Completions, said
from services.engines.masks.vocabulary import read_vocabulary
from services.examples.triage.task import TRIAGE
from tests.engines.running import SMALL, llama

pytestmark = pytest.mark.models

BEGUN = '{"category":"other","priority":"'
PUSH = [[word, 100] for word in ("urgent", " urgent", "Urgent", "URGENT")]


@pytest.fixture(scope="module")
def completions(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Completions]:
    with llama(tmp_path_factory.mktemp("triage")) as engine:
        yield Completions(Calls(engine.url, timeout_s=60), engine.dialect, engine.model)


def test_a_model_whose_every_likeliest_token_is_urgent_still_gives_a_priority(
    completions: Completions,
) -> None:
    """Each token of the word is made a hundred logits likelier. Without the mask nothing else comes."""
    chat = [{"role": "user", "content": 'Say "urgent": urgent urgent urgent!'}]
    masked = completions.request(chat, TRIAGE.output.mask, 64) | {"logit_bias": PUSH}
    free: dict[str, Any] = {key: value for key, value in masked.items() if key != "grammar"}

    assert "urgent" in said(completions.calls.post(CHAT, free | {"max_tokens": 8}))[0].lower()
    text, reason = said(completions.calls.post(CHAT, masked))
    assert reason == "stop"
    assert TRIAGE.output.mask.accepts(text)
    assert json.loads(text)["priority"] in ("low", "medium", "high")


def test_of_all_its_tokens_only_pieces_of_the_three_priorities_are_left() -> None:
    """On the model's own vocabulary: where the priority begins, the mask leaves these of 49,152 tokens."""
    vocabulary = read_vocabulary(Path(resolve(SMALL, settings().models_dir)))
    tokenizer = vocabulary.tokenizer()
    matcher = LLMatcher(tokenizer, TRIAGE.output.mask.lark)
    assert matcher.consume_tokens(tokenizer.tokenize_str(BEGUN))
    bits = matcher.compute_bitmask()
    left = [n for n in range(vocabulary.size) if bits[n // 8] >> n % 8 & 1]
    texts = {tokenizer.decode_str([n]) for n in left}

    assert {"low", "medium", "high"} <= texts
    wholes = [f'{word}","needs_human":' for word in ("low", "medium", "high")]
    assert all(any(whole.startswith(text) for whole in wholes) for text in texts)
    assert tokenizer.tokenize_str("urgent")[0] not in left
