"""Training data of a recognizer: recordings, texts and initial weights."""

from __future__ import annotations

import json
import wave
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from infra.settings import settings
from services.learning.training.recognizer.spoken import Targets, as_sentence, orders, pack, recorded
from services.learning.training.recognizer.unpack import unpacked
from services.transcription import ctranslate2_file


@pytest.fixture(scope="module", params=["faster-whisper-base", "faster-whisper-tiny.en"])
def model(request: pytest.FixtureRequest) -> Path:
    return settings().models_dir / str(request.param)


@pytest.fixture
def targets(model: Path) -> Targets:
    return Targets(Tokenizer.from_file(str(model / "tokenizer.json")), "en")


def test_a_folder_of_recordings_is_packed(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "0-0.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes((np.sin(np.arange(16_000) / 20) * 8_000).astype("<i2").tobytes())
    rows = [
        {"file": "0-0.wav", "text": "a latte"},
        {"text": "unsayable", "left_out": "why"},
    ]
    (tmp_path / "0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    pack(2 * list(recorded(tmp_path)), tmp_path / "out.npz")
    for found in orders(tmp_path / "out.npz"):
        assert (found.text, len(found.samples)) == ("A latte.", 16_000)
        assert 7_900 < int(found.samples.max()) <= 8_000


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("two teas", "Two teas."),
        ("  Two  teas! ", "Two teas!"),
        ("is there tea?", "Is there tea?"),
        ("8oz tea", "8oz tea."),
    ],
)
def test_an_order_is_written_as_a_sentence(text: str, sentence: str) -> None:
    assert as_sentence(text) == sentence


def test_a_text_stands_between_its_times(model: Path, targets: Targets) -> None:
    first, *words, last, end = targets.text("Two teas.", (0.0, 1.24))
    assert (first, last, end) == (targets.first_time, targets.first_time + 62, targets.end)
    assert Tokenizer.from_file(str(model / "tokenizer.json")).decode(words).strip() == "Two teas."


def test_only_a_multilingual_recognizer_gets_a_language_token(model: Path, targets: Targets) -> None:
    assert len(targets.start) == (1 if model.name.endswith(".en") else 3)


def test_weights_are_split_by_the_names_of_transformers(model: Path) -> None:
    tensors = ctranslate2_file.read(model / "model.bin").tensors
    told, found = unpacked(tensors)
    width, layers = told["d_model"], told["decoder_layers"]
    assert (told["encoder_layers"], told["num_mel_bins"], told["vocab_size"]) == (
        layers,
        80,
        len(tensors["decoder/embeddings/weight"]),
    )
    # 15 per encoder layer, 24 per decoder layer, and 7 and 4 others.
    assert len(found) == 39 * layers + 11
    fused = tensors["decoder/layer_0/self_attention/linear_0/weight"]
    parts = [found[f"model.decoder.layers.0.self_attn.{name}_proj.weight"] for name in "qkv"]
    assert np.array_equal(np.concatenate(parts), fused)
    assert not tensors["decoder/layer_0/self_attention/linear_0/bias"][width : 2 * width].any()
    assert "model.decoder.layers.0.self_attn.k_proj.bias" not in found
