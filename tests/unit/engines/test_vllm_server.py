"""Weights as vLLM loads them; that it obeys a mask is for tests/engines."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from infra.weights.lock import ModelError
from infra.weights.safetensors import weights

GGUF = "tiny.gguf"


def fake_python(folder: Path, does: str) -> Path:
    """Something in place of the other environment's interpreter."""
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\nimport os, pathlib, sys\n{does}\n")
    python.chmod(0o755)
    return python


def test_weights_are_converted_once(tmp_path: Path) -> None:
    (tmp_path / GGUF).write_bytes(b"GGUF")
    count = tmp_path / "count"
    python = fake_python(tmp_path, f"open({str(count)!r}, 'a').write('x'); os.mkdir(sys.argv[-1])")
    for _ in range(2):
        model, name = weights(str(tmp_path / GGUF), tmp_path, python)
        assert (Path(model), name) == (tmp_path / "safetensors" / "tiny", GGUF)
    assert count.read_text() == "x"


def test_a_conversion_that_fails_is_said(tmp_path: Path) -> None:
    (tmp_path / GGUF).write_bytes(b"GGUF")
    with pytest.raises(ModelError, match="could not be converted"):
        weights(str(tmp_path / GGUF), tmp_path, fake_python(tmp_path, "sys.exit(1)"))
    assert not (tmp_path / "safetensors" / "tiny").exists()


def test_other_weights_go_to_vllm_as_they_are(tmp_path: Path) -> None:
    absent = tmp_path / "python"
    assert weights("Qwen/Qwen2.5-Coder-7B-Instruct", tmp_path, absent)[0] == "Qwen/Qwen2.5-Coder-7B-Instruct"
    (tmp_path / "mine").mkdir()
    assert weights(str(tmp_path / "mine"), tmp_path, absent) == (str(tmp_path / "mine"), "mine")
