"""The bench of random weights judges answers rightly; a bench that finds nothing wrong must be able to."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import settings
from infra.weights.models import resolve
from schemas.cart import CartDraft, ItemLine, OptionDraft
from services.engines.masks.labels import Labels
from services.engines.masks.vocabulary import read_vocabulary
from tests.bench.masks.random_server import write_model
from tests.bench.masks.random_weights import Order, judge, resolves, sampling, summary
from tests.stand_ins import CAFE
from tests.wire_text import LATTES, MUFFIN, SAID, mask_of, said, wire

MODEL = "smollm2-135m-instruct-q4_1.gguf"


def order() -> Order:
    evidence = said(SAID)
    return Order("o-1", evidence, Labels(evidence.menu), mask_of(evidence))


@pytest.mark.parametrize(
    ("text", "finish", "verdict"),
    [
        (wire(LATTES, MUFFIN), "stop", "valid"),
        (wire(LATTES, MUFFIN), "length", "ended by length"),
        (wire(LATTES, {**MUFFIN, "sku": "americano"}), "stop", "outside the mask"),
        (wire(LATTES), "stop", "outside the mask"),
        ("", "stop", "outside the mask"),
    ],
)
def test_an_answer_is_judged(text: str, finish: str, verdict: str) -> None:
    assert judge(order(), text, finish) == verdict


@pytest.mark.parametrize(
    ("change", "known"),
    [
        ({}, True),
        ({"sku": "unicorn"}, False),
        ({"size": "P10"}, False),
        ({"options": (OptionDraft(group="roast", id="dark-roast"),)}, False),
        ({"options": (OptionDraft(group="milk", id="gold"),)}, False),
        ({"options": (OptionDraft(group="milk", id="oat"),)}, True),
    ],
)
def test_a_cart_is_held_to_the_menu(change: dict[str, Any], known: bool) -> None:
    line = ItemLine(kind="item", heard="a latte", sku="latte", quantity=1, size="L")
    draft = CartDraft(lines=(line.model_copy(update=change),))
    assert resolves(draft, CAFE) == known


def test_counts_are_of_what_was_answered() -> None:
    verdicts = ["valid", "valid", "outside the mask"]
    rows = [
        {"order": "o-1", "verdict": verdict, "tokens": 10, "text": verdict, "sampling": sampling(number)}
        for number, verdict in enumerate(verdicts)
    ]
    counted = summary(rows)
    assert (counted["decodes"], counted["valid"], counted["invalid"], counted["tokens"]) == (3, 2, 1, 30)
    assert counted["different_texts"] == 2
    assert sampling(7) == sampling(7)


@pytest.mark.models
def test_a_cut_vocabulary_is_a_tokenizer_of_its_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    head = {f"qwen2.{name}": 64 for name in ("embedding_length", "feed_forward_length")}
    head |= {
        f"qwen2.{name}": 1 for name in ("attention.head_count", "attention.head_count_kv", "rope.freq_base")
    }
    head["qwen2.attention.layer_norm_rms_epsilon"] = 1
    monkeypatch.setattr("tests.bench.masks.random_server.metadata", lambda _: head)
    config = write_model(tmp_path, Path(resolve(MODEL, settings().models_dir)), 2048)
    tokens = read_vocabulary(tmp_path).tokenizer()
    assert tokens.vocab_size == config["vocab_size"] == 2048, "its marks are among the first"
    assert tokens.eos_token == config["eos_token_id"]
    text = wire(LATTES, MUFFIN) + "é🍵"
    assert tokens.decode_bytes(tokens.tokenize_str(text)) == text.encode()
    assert max(tokens.tokenize_str(text)) < 2048
    assert json.loads((tmp_path / "config.json").read_text()) == config
