"""Unpacking weights on the GPU machine, without the package gguf."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from tests.bench.gpu import unpack


def test_bfloat16_is_rounded_to_the_nearest_even() -> None:
    values = np.array([1.0, 1 + 2**-8, 1 + 3 * 2**-8, -2.5], np.float32)
    found = (unpack.bfloat16(values).astype(np.uint32) << 16).view(np.float32)
    assert found.tolist() == [1.0, 1.0, 1 + 2**-6, -2.5]


def test_every_part_waits_for_its_own_pieces_and_has_a_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def tensor(name: str, shape: list[int], offset: int, size: int) -> Any:
        return SimpleNamespace(name=name, shape=shape, data_offset=offset, n_bytes=size)

    known = [
        tensor("token_embd.weight", [4, 6], 100, 60),  # six rows of ten bytes
        tensor("blk.3.attn_norm.weight", [4], 160, 16),
    ]
    monkeypatch.setattr(unpack, "tensors", lambda _: known)
    monkeypatch.setattr(unpack, "AT_ONCE", 8)
    file = tmp_path / "model.safetensors"
    tasks = unpack.tasks(Path("m.gguf"), tmp_path, 64, file)
    assert [(task.tensor, task.rows, list(task.pieces)) for task in tasks] == [
        (0, (0, 2), [1]), (0, (2, 4), [1, 2]), (0, (4, 6), [2]), (1, None, [2]),
    ]  # fmt: skip
    raw = file.read_bytes()
    size = int.from_bytes(raw[:8], "little")
    head = json.loads(raw[8 : 8 + size])
    assert head["model.layers.3.input_layernorm.weight"] == {
        "dtype": "BF16", "shape": [4], "data_offsets": [48, 56],
    }  # fmt: skip
    assert [task.offset - 8 - size for task in tasks] == [0, 16, 32, 48]
    assert len(raw) == 8 + size + 56
