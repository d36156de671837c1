"""What a recogniser learns from: recordings, words, what stands before them, and its first weights."""

from __future__ import annotations

import json
import random
import wave
from pathlib import Path

import numpy as np
import pytest
from tokenizers import Tokenizer

from infra.settings import settings
from services.learning.training.recogniser import pack as packing
from services.learning.training.recogniser.spoken import (
    MOST_NAMES,
    MOST_PROMPT,
    Order,
    Writer,
    hints,
    orders,
    pack,
    written,
    wrong_words,
)
from services.learning.training.recogniser.unpack import unpacked
from services.transcription import ctranslate2_file

NAMES = ("Latte", "Oat Milk", "Blueberry Muffin", "Large", *(f"Dish {n}" for n in range(80)))


@pytest.fixture(scope="module", params=["faster-whisper-base", "faster-whisper-tiny.en"])
def model(request: pytest.FixtureRequest) -> Path:
    return settings().models_dir / str(request.param)


@pytest.fixture
def writer(model: Path) -> Writer:
    return Writer(Tokenizer.from_file(str(model / "tokenizer.json")), "en")


def order(text: str = "A large latte with oat milk.") -> Order:
    return Order(np.zeros(16, np.int16), text, NAMES)


def test_recordings_come_back_with_their_words(tmp_path: Path) -> None:
    first, second = np.arange(5, dtype=np.int16), np.arange(3, dtype=np.int16)
    pack(
        [(first, "a latte", "cafe"), (second, "Two teas, please!", "bar")],
        {"cafe": ["Latte"]},
        tmp_path / "a.npz",
    )
    found = orders(tmp_path / "a.npz")
    assert [(one.text, one.names) for one in found] == [("A latte.", ("Latte",)), ("Two teas, please!", ())]
    assert [one.samples.tolist() for one in found] == [first.tolist(), second.tolist()]


def test_a_folder_of_recordings_is_packed(tmp_path: Path) -> None:
    with wave.open(str(tmp_path / "0-0.wav"), "wb") as file:
        file.setparams((1, 2, 16_000, 0, "NONE", ""))
        file.writeframes((np.sin(np.arange(16_000) / 20) * 8_000).astype("<i2").tobytes())
    rows = [
        {"file": "0-0.wav", "text": "a latte", "menu": "cafe"},
        {"text": "unsayable", "menu": "cafe", "left_out": "why"},
    ]
    (tmp_path / "0.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "menus.json").write_text(json.dumps({"cafe": ["Latte"]}))
    assert packing.main([str(tmp_path), str(tmp_path / "out.npz")]) == 0
    (found,) = orders(tmp_path / "out.npz")
    assert (found.text, found.names, len(found.samples)) == ("A latte.", ("Latte",), 16_000)
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
    assert written(text) == sentence


def test_names_before_it_have_most_of_what_is_said_and_much_else() -> None:
    found = [hints(order(), random.Random(seed)) for seed in range(200)]
    assert all(one.startswith("Order: ") and one.endswith(".") for one in found)
    assert max(one.count(",") for one in found) < MOST_NAMES
    shares = {
        name: sum(name in one for one in found) / len(found)
        for name in ("Latte", "Oat Milk", "Blueberry Muffin")
    }
    assert shares["Latte"] > 0.75
    assert shares["Oat Milk"] > 0.75
    assert 0.05 < shares["Blueberry Muffin"] < 0.6


def test_a_text_stands_between_its_times_behind_its_prompt(writer: Writer) -> None:
    plain, named = writer.prompt(None), writer.prompt("Order: " + ", ".join(NAMES) + ".")
    assert named[-len(plain) :] == plain
    assert len(named) == 1 + MOST_PROMPT + len(plain)
    tokens = writer.text("Two teas.", (0.0, 1.24))
    assert (tokens[0], tokens[-2], tokens[-1]) == (writer.first_time, writer.first_time + 62, writer.end)
    assert writer.read(tokens) == "Two teas."


def test_only_a_recogniser_of_several_languages_is_told_which(model: Path, writer: Writer) -> None:
    assert len(writer.prompt(None)) == (1 if model.name.endswith(".en") else 3)


@pytest.mark.parametrize(
    ("said", "heard", "wrong"),
    [
        ("Two large teas.", "two large teas", 0),
        ("Two teas", "to teas please", 2),
        ("Two teas", "", 2),
        ("A to-go cup", "a to go cup", 0),
    ],
)
def test_wrong_words_are_counted(said: str, heard: str, wrong: int) -> None:
    assert wrong_words(said, heard)[0] == wrong


def test_the_weights_are_taken_apart_as_transformers_names_them(model: Path) -> None:
    tensors = ctranslate2_file.read(model / "model.bin").tensors
    told, found = unpacked(tensors)
    width, layers = told["d_model"], told["decoder_layers"]
    assert (told["encoder_layers"], told["num_mel_bins"], told["vocab_size"]) == (
        layers,
        80,
        len(tensors["decoder/embeddings/weight"]),
    )
    # 15 of a layer of the encoder, 24 of the decoder, 7 and 4 around them.
    assert len(found) == 39 * layers + 11
    fused = tensors["decoder/layer_0/self_attention/linear_0/weight"]
    parts = [found[f"model.decoder.layers.0.self_attn.{name}_proj.weight"] for name in "qkv"]
    assert np.array_equal(np.concatenate(parts), fused)
    assert not tensors["decoder/layer_0/self_attention/linear_0/bias"][width : 2 * width].any()
    assert "model.decoder.layers.0.self_attn.k_proj.bias" not in found
