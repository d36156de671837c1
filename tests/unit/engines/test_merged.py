"""An adapter that is worked into the weights of a GGUF."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from gguf import GGMLQuantizationType, GGUFReader, GGUFWriter
from gguf.quants import dequantize, quantize

from schemas.errors import EngineMisconfigured
from services.decoding.gguf import metadata
from services.engines.reader.adapters import finish
from services.engines.reader.merged import merged, write
from tests.unit.engines.test_adapters import LAYER, kept

ROWS, COLUMNS = 4, 64
RANDOM = np.random.default_rng(0)
QUERY = RANDOM.normal(size=(ROWS, COLUMNS)).astype(np.float32)
OTHER = RANDOM.normal(size=(ROWS, COLUMNS)).astype(np.float32)
DOWN = RANDOM.normal(size=(2, COLUMNS)).astype(np.float32)
UP = RANDOM.normal(size=(ROWS, 2)).astype(np.float32)
HALF_A_STEP = 0.55 / 127
"""Of eight bits, and what half precision of a block's scale adds, over the largest of the block."""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return kept(tmp_path / "a-orders", {LAYER.format("A"): DOWN, LAYER.format("B"): UP})


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return made(tmp_path / "a-base.gguf")


def made(out: Path, architecture: str = "qwen2", columns: int = COLUMNS) -> Path:
    """A model of three tensors: the adapter's layer and another in four bits, and one of single precision."""
    writer = GGUFWriter(out, architecture)
    writer.add_name("A base")
    writer.add_token_list(["a", "b"])
    four = GGMLQuantizationType.Q4_1
    writer.add_tensor("blk.3.attn_q.weight", quantize(QUERY[:, :columns], four), raw_dtype=four)
    writer.add_tensor("blk.3.attn_k.weight", quantize(OTHER, four), raw_dtype=four)
    writer.add_tensor("blk.3.attn_norm.weight", OTHER[0])
    finish(writer)
    return out


def test_the_layer_is_the_sum_and_all_else_is_copied(folder: Path, model: Path, tmp_path: Path) -> None:
    found = merged(model, folder, tmp_path / "models")
    before, after = ({t.name: t for t in GGUFReader(path).tensors} for path in (model, found))
    assert before.keys() == after.keys()
    base = before["blk.3.attn_q.weight"]
    wanted = dequantize(base.data, base.tensor_type) + 2 * UP @ DOWN  # alpha 4 over rank 2
    layer = after["blk.3.attn_q.weight"]
    assert layer.tensor_type == GGMLQuantizationType.Q8_0
    off = np.abs(dequantize(layer.data, layer.tensor_type) - wanted).reshape(ROWS, -1, 32)
    assert (off.max(2) <= HALF_A_STEP * np.abs(wanted).reshape(ROWS, -1, 32).max(2)).all()
    for name in before.keys() - {"blk.3.attn_q.weight"}:
        assert after[name].tensor_type == before[name].tensor_type
        assert np.array_equal(after[name].data, before[name].data)
    assert metadata(found) == metadata(model)


def test_a_model_of_another_architecture_is_refused(folder: Path, tmp_path: Path) -> None:
    other = made(tmp_path / "other.gguf", "llama")
    with pytest.raises(EngineMisconfigured, match="it is for qwen2, the model is llama"):
        write(other, folder, tmp_path / "out.gguf")
    assert not (tmp_path / "out.gguf").exists()


def test_a_model_of_other_sizes_is_refused(folder: Path, tmp_path: Path) -> None:
    other = made(tmp_path / "other.gguf", columns=32)
    with pytest.raises(EngineMisconfigured, match="can't be worked into"):
        write(other, folder, tmp_path / "out.gguf")


def test_a_layer_that_the_model_has_not_is_told(model: Path, tmp_path: Path) -> None:
    more = {
        LAYER.format(side).replace("layers.3", "layers.4"): array for side, array in (("A", DOWN), ("B", UP))
    }
    folder = kept(tmp_path / "a-orders", more)
    with pytest.raises(EngineMisconfigured, match=r"the model has no blk\.4\.attn_q\.weight\.lora_a"):
        write(model, folder, tmp_path / "out.gguf")


@pytest.mark.parametrize("size", [0, 3, 200, -1])
def test_a_model_that_is_cut_off_is_told(size: int, folder: Path, model: Path, tmp_path: Path) -> None:
    model.write_bytes(model.read_bytes()[:size])
    with pytest.raises(EngineMisconfigured, match="can't be worked into"):
        write(model, folder, tmp_path / "out.gguf")
