"""Merging an adapter into a recognizer's weights."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from infra.weights.adapters import CARD, release
from infra.weights.lock import lock
from schemas.errors import EngineMisconfigured
from services.transcription import ctranslate2_file
from services.transcription.adapted import adapted, adapter_of, languages, merged
from services.transcription.ctranslate2_file import Weights, part_of
from tests.unit.engines.test_adapters import kept

rng = np.random.default_rng(1)
QKV, KV, FC = (
    "encoder/layer_0/self_attention/linear_0",
    "decoder/layer_1/attention/linear_1",
    "encoder/layer_0/ffn/linear_1",
)


def array(*shape: int) -> Any:
    return rng.standard_normal(shape).astype(np.float16)


def weights() -> Weights:
    tensors = {f"{QKV}/weight": array(12, 4), f"{KV}/weight": array(8, 4), f"{FC}/weight": array(4, 16)}
    return Weights(
        "WhisperSpec", 3, {**tensors, "encoder/num_heads": np.int16(2) * np.ones((), "<i2")}, {"a": "b"}
    )


def model(folder: Path) -> Path:
    folder.mkdir()
    ctranslate2_file.write(weights(), folder / "model.bin")
    (folder / "config.json").write_text("{}")
    return folder


def adapter(folder: Path, layers: dict[str, tuple[int, int]]) -> Path:
    shapes = {
        f"base_model.model.model.{layer}.lora_{letter}.weight": shape
        for layer, (rows, columns) in layers.items()
        for letter, shape in (("A", (2, columns)), ("B", (rows, 2)))
    }
    return kept(folder, {name: array(*shape) for name, shape in shapes.items()}, "F16")


LAYERS = {
    "encoder.layers.0.self_attn.v_proj": (4, 4),
    "decoder.layers.1.encoder_attn.k_proj": (4, 4),
    "encoder.layers.0.fc2": (4, 16),
}


def test_weights_come_back_as_they_were_written(tmp_path: Path) -> None:
    kept = weights()
    ctranslate2_file.write(kept, tmp_path / "model.bin")
    found = ctranslate2_file.read(tmp_path / "model.bin")
    assert (found.specification, found.revision, found.aliases) == ("WhisperSpec", 3, {"a": "b"})
    assert list(found.tensors) == list(kept.tensors)
    assert all(np.array_equal(found.tensors[name], kept.tensors[name]) for name in kept.tensors)


@pytest.mark.parametrize(
    "damage", [lambda data: data[:-1], lambda data: b"\7" + data[1:], lambda data: data[:40]]
)
def test_another_file_is_refused(damage: Any, tmp_path: Path) -> None:
    file = tmp_path / "model.bin"
    ctranslate2_file.write(weights(), file)
    file.write_bytes(damage(file.read_bytes()))
    with pytest.raises(ValueError, match=r"version|end of file"):
        ctranslate2_file.read(file)


def test_a_product_is_added_to_its_layer() -> None:
    tensors, (down, up) = weights().tensors, (array(2, 4), array(4, 2))
    names = [
        f"base_model.model.model.encoder.layers.0.self_attn.v_proj.lora_{letter}.weight" for letter in "AB"
    ]
    found = merged(tensors, dict(zip(names, (down, up), strict=True)), 2.0)
    wanted = tensors[f"{QKV}/weight"].astype(np.float32)
    wanted[8:] += 2 * up.astype(np.float32) @ down.astype(np.float32)
    assert np.array_equal(found[f"{QKV}/weight"], wanted.astype(np.float16))
    assert all(found[name] is tensors[name] for name in tensors if name != f"{QKV}/weight")


@pytest.mark.parametrize(
    ("layer", "part"),
    [
        ("encoder.layers.5.self_attn.q_proj", ("encoder/layer_5/self_attention/linear_0", 0, 3)),
        ("decoder.layers.0.encoder_attn.v_proj", ("decoder/layer_0/attention/linear_1", 1, 2)),
        ("encoder.layers.2.fc1", ("encoder/layer_2/ffn/linear_0", 0, 1)),
    ],
)
def test_each_layer_maps_to_its_tensor(layer: str, part: tuple[str, int, int]) -> None:
    assert part_of(layer) == part


@pytest.mark.parametrize(
    "layer",
    ["model.layers.0.self_attn.q_proj", "encoder.layers.0.fc3", "encoder.conv1", "encoder.layers.x.fc1"],
)
def test_other_layers_are_rejected(layer: str) -> None:
    with pytest.raises(ValueError, match="not a linear layer"):
        part_of(layer)


def test_merged_weights_are_written_once(tmp_path: Path) -> None:
    base, trained = model(tmp_path / "a-recogniser"), adapter(tmp_path / "an-adapter", LAYERS)
    found = adapted(base, trained, tmp_path / "models")
    assert found == tmp_path / "models" / "adapters" / release(trained)
    assert sorted(file.name for file in found.iterdir()) == ["config.json", "model.bin"]
    changed = ctranslate2_file.read(found / "model.bin").tensors
    was = ctranslate2_file.read(base / "model.bin").tensors
    assert [name for name in was if not np.array_equal(was[name], changed[name])] == [
        f"{QKV}/weight",
        f"{KV}/weight",
        f"{FC}/weight",
    ]
    before = (found / "model.bin").stat().st_mtime_ns
    assert adapted(base, trained, tmp_path / "models") == found
    assert (found / "model.bin").stat().st_mtime_ns == before
    assert not [file for file in found.parent.iterdir() if file.name.startswith(".")]


@pytest.mark.parametrize("layers", [{"encoder.layers.7.fc2": (4, 16)}, {"encoder.layers.0.fc2": (4, 8)}])
def test_an_adapter_for_another_model_is_rejected(layers: dict[str, tuple[int, int]], tmp_path: Path) -> None:
    with pytest.raises(EngineMisconfigured, match="can't be merged into"):
        adapted(
            model(tmp_path / "a-recogniser"), adapter(tmp_path / "an-adapter", layers), tmp_path / "models"
        )


@pytest.mark.parametrize("name", ["faster-whisper-base", "faster-whisper-tiny.en"])
def test_the_locked_recognizers_have_an_english_adapter(name: str) -> None:
    found = adapter_of(name)
    assert found is not None
    assert languages(found) == ("en",)
    assert json.loads((found / CARD).read_text())["base"] in lock().names
    assert adapter_of(f"/models/{name}") is None, "a path"
