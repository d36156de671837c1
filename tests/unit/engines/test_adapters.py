"""Adapters as they are kept, and as llama.cpp loads them."""

from __future__ import annotations

import json
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from gguf import GGUFReader

from infra.weights import adapters
from infra.weights.adapters import (
    CARD,
    CONFIG,
    WEIGHTS,
    adapter_for,
    prepared,
    read,
    to_gguf,
    written_once,
)
from schemas.errors import EngineMisconfigured

LAYER = "base_model.model.model.layers.3.self_attn.q_proj.lora_{}.weight"
A = np.arange(6, dtype=np.float32).reshape(2, 3) / 4
B = np.arange(8, dtype=np.float32).reshape(4, 2) - 2
KINDS = {"F32": np.float32, "F16": np.float16}


def metadata(file: Path) -> dict[str, Any]:
    """What a GGUF file says of itself."""
    fields = GGUFReader(file).fields
    return {name: field.contents() for name, field in fields.items() if not name.startswith("GGUF.")}


def kept(folder: Path, tensors: dict[str, Any], kind: str = "F32") -> Path:
    """An adapter's folder as peft saves it, its weights written by hand."""
    head: dict[str, Any] = {"__metadata__": {"format": "pt"}}
    body = b""
    for name, array in tensors.items():
        if kind == "BF16":
            part = (array.astype(np.float32).view(np.uint32) >> 16).astype(np.uint16).tobytes()
        else:
            part = array.astype(KINDS[kind]).tobytes()
        head[name] = {
            "dtype": kind,
            "shape": list(array.shape),
            "data_offsets": [len(body), len(body) + len(part)],
        }
        body += part
    header = json.dumps(head).encode()
    folder.mkdir(exist_ok=True)
    (folder / WEIGHTS).write_bytes(struct.pack("<Q", len(header)) + header + body)
    (folder / CONFIG).write_text(json.dumps({"r": 2, "lora_alpha": 4}))
    (folder / CARD).write_text(json.dumps({"base": "a-base.gguf"}))
    return folder


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return kept(tmp_path / "a-orders", {LAYER.format("A"): A, LAYER.format("B"): B}, "BF16")


@pytest.mark.parametrize("kind", ["F32", "F16", "BF16"])
def test_arrays_are_read_as_they_were_written(kind: str, tmp_path: Path) -> None:
    found = read(kept(tmp_path, {"a": A, "b": B}, kind) / WEIGHTS)
    assert found.keys() == {"a", "b"}
    assert np.array_equal(found["a"], A)
    assert np.array_equal(found["b"], B)


def test_a_gguf_has_the_arrays_in_half_precision(folder: Path, tmp_path: Path) -> None:
    out = tmp_path / "out.gguf"
    to_gguf(folder, out)
    assert metadata(out) == {
        "general.architecture": "qwen2",
        "general.type": "adapter",
        "adapter.type": "lora",
        "adapter.lora.alpha": 4.0,
    }
    found = {tensor.name: tensor for tensor in GGUFReader(out).tensors}
    assert found.keys() == {f"blk.3.attn_q.weight.lora_{part}" for part in "ab"}
    for part, array in (("a", A), ("b", B)):
        tensor = found[f"blk.3.attn_q.weight.lora_{part}"]
        assert tensor.data.dtype == np.float16
        assert np.array_equal(tensor.data, array)
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["out.gguf"]


@pytest.mark.parametrize(
    "name",
    [
        "base_model.model.model.embed_tokens.lora_A.weight",
        "base_model.model.model.layers.3.self_attn.qkv_proj.lora_A.weight",
        "layers.3.self_attn.q_proj.lora_A.weight",
    ],
)
def test_a_layer_that_is_not_known_is_refused(name: str, tmp_path: Path) -> None:
    with pytest.raises(EngineMisconfigured, match="not a layer of Qwen2"):
        to_gguf(kept(tmp_path, {name: A}), tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()


@pytest.mark.parametrize("damage", [WEIGHTS, CONFIG, 4, 40, -4])
def test_a_file_that_lacks_or_was_cut_is_an_error(damage: str | int, folder: Path, tmp_path: Path) -> None:
    if isinstance(damage, str):
        (folder / damage).unlink()
    else:
        weights = folder / WEIGHTS
        weights.write_bytes(weights.read_bytes()[:damage])
    with pytest.raises(EngineMisconfigured):
        to_gguf(folder, tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()


def test_it_is_written_once_and_anew_for_other_weights(folder: Path, tmp_path: Path) -> None:
    first = prepared(folder, tmp_path / "models")
    written = first.stat().st_mtime_ns
    assert prepared(folder, tmp_path / "models") == first
    assert first.stat().st_mtime_ns == written
    kept(folder, {LAYER.format("A"): A + 1, LAYER.format("B"): B}, "BF16")
    assert prepared(folder, tmp_path / "models") != first


def test_a_folder_becomes_a_file_where_one_may_write_and_a_file_stays(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "scratch"))
    before = sorted(folder.rglob("*"))
    no_folder = tmp_path / "models"
    no_folder.write_text("")  # root may write to any folder
    found = prepared(folder, no_folder)
    assert tmp_path / "scratch" in found.parents
    assert metadata(found)["general.type"] == "adapter"
    assert prepared(folder, no_folder) == found
    assert prepared(found, no_folder) == found
    assert sorted(folder.rglob("*")) == before


def test_what_could_not_be_written_leaves_nothing(tmp_path: Path) -> None:
    def fails(out: Path) -> None:
        out.write_text("half of it")
        raise ValueError("the rest")

    with pytest.raises(ValueError, match="the rest"):
        written_once("a.gguf", tmp_path, fails)
    assert not any(path.is_file() for path in tmp_path.rglob("*"))


def test_who_was_sooner_is_believed(tmp_path: Path) -> None:
    def slower(out: Path) -> None:
        out.mkdir()
        there = tmp_path / "adapters" / "a-model"
        there.mkdir()
        (there / "weights").write_text("theirs")

    found = written_once("a-model", tmp_path, slower)
    assert [path.read_text() for path in found.iterdir()] == ["theirs"]
    assert list(found.parent.iterdir()) == [found]


def test_the_adapter_of_a_model_is_found_by_its_name_or_file(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adapters, "ADAPTERS", folder.parent)
    assert adapter_for("a-base.gguf") == folder
    assert adapter_for("/models/a-base.gguf") == folder
    assert adapter_for("smollm2-135m-instruct-q4_1.gguf") is None


@pytest.mark.parametrize("base", ["0.5b", "1.5b"])
def test_each_shipped_adapter_is_found_and_whole(base: str, tmp_path: Path) -> None:
    found = adapter_for(f"qwen2.5-coder-{base}-instruct-q4_k_m.gguf")
    assert found is not None
    assert found.name == f"qwen2.5-coder-{base}-orders"
    config = json.loads((found / CONFIG).read_text())
    assert config["base_model_name_or_path"] == json.loads((found / CARD).read_text())["base"]
    header = metadata(prepared(found, tmp_path))
    assert header["adapter.lora.alpha"] == config["lora_alpha"]
