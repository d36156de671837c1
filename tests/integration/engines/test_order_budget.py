"""The token budget of a transcript: real orders fit, hostile texts reach no model."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from llguidance import LLTokenizer

from infra.settings import Settings, settings
from infra.weights.lock import ModelError
from schemas.errors import TooMuchToRead
from services.decoding.decoder import OpenAIDecoder
from services.decoding.ports import CartRequest
from tests.servers.staged_server import Answer, StagedServer, completion, staged_server
from tests.stand_ins import CAFE
from tests.tokenizers import tokenizer_of

TESTS = Path(__file__).resolve().parents[2]
MOST = Settings.model_fields["order_tokens"].default
SEALED = {"sealed", "held_out"}
MANY_BYTES = "é漢😀\u0301" * 490
HOSTILE = {
    "signs of many bytes": MANY_BYTES,
    "an order without end": "a latte and " * 165,
    "digits": "".join(f"{n * 7919 % 997:x}!" for n in range(500)),
}


@pytest.fixture(scope="module")
def tokenizer() -> LLTokenizer:
    try:
        return tokenizer_of(settings().llm_model)
    except ModelError:
        pytest.skip("the default weights are not here: saycart models fetch")


def utterances() -> list[str]:
    """All utterances of sets that are not sealed."""
    files = [
        *sorted((TESTS / "orders").glob("*.jsonl")),
        *sorted((TESTS / "orders" / "spanish").glob("*.jsonl")),
        *sorted((TESTS / "golden").glob("*-tuned.jsonl")),
    ]
    rows = [json.loads(line) for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    notations = [file for file in (TESTS / "orders").rglob("*.orders") if not SEALED & set(file.parts)]
    lines = [line for file in notations for line in file.read_text(encoding="utf-8").splitlines()]
    return [row["utterance"] for row in rows] + [
        re.split("] | =>", line)[1] for line in lines if "=>" in line
    ]


def test_the_longest_known_order_fits(tokenizer: LLTokenizer) -> None:
    spoken = utterances()
    assert len(spoken) > 18_000
    assert max(len(tokenizer.tokenize_str(text)) for text in spoken) <= MOST


@pytest.mark.parametrize("text", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_transcripts_exceed_it(tokenizer: LLTokenizer, text: str) -> None:
    assert len(text) < 2_000
    assert len(tokenizer.tokenize_str(text)) > MOST


@pytest.fixture
def server() -> Iterator[StagedServer]:
    def answer(body: dict[str, Any]) -> Answer:
        """Half a token per byte; completions time out."""
        text = body.get("content", body.get("prompt"))
        if text is None:
            return completion("", "length")
        return 200, json.dumps({"tokens": [0] * (len(text.encode()) // 2)}).encode()

    with staged_server(answer) as staged:
        staged.adapters = (200, b'[{"id": 0}]')
        yield staged


def decoder(server: StagedServer, dialect: str) -> OpenAIDecoder:
    return server.decoder(dialect, adapter="orders", order_tokens=MOST)


@pytest.mark.parametrize("dialect", ["llama.cpp", "vllm"])
def test_a_transcript_over_budget_reaches_no_model(server: StagedServer, dialect: str) -> None:
    asked = decoder(server, dialect)
    asked._has_adapter = True
    for words in ((MANY_BYTES, ""), ("a latte", MANY_BYTES)):
        with pytest.raises(TooMuchToRead, match="tokens"):
            asked.decode(CartRequest(words[0], CAFE, words[1]))
    assert server.paths == ["/tokenize"] * 2


def test_short_transcripts_are_not_counted_and_answers_are_limited(
    server: StagedServer,
) -> None:
    with pytest.raises(Exception, match="finish_reason"):
        decoder(server, "llama.cpp").decode(CartRequest("a small latte", CAFE))
    assert server.paths == ["/v1/chat/completions"]
    assert server.bodies[0]["max_tokens"] == 2 * MOST
