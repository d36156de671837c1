"""`saycart doctor --engine`: a good server passes each check, and each fault has a line and a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from gguf import GGUFReader
from typer.testing import CliRunner

from infra.settings import Settings, settings
from infra.weights.models import resolve
from services.cli.commands.doctor_engine import AWKWARD, engine_checks
from services.cli.main import app
from services.decoding.decoder import PROBE_WORD
from tests.any_text import tokenizer_of
from tests.servers.staged_server import Answer, completion, is_probe, staged_server

MODEL = "smollm2-135m-instruct-q4_1.gguf"


@pytest.mark.models
def test_the_embedded_engine_passes(tmp_path: Path) -> None:
    checks = list(engine_checks(Settings(home=tmp_path, llm_model=MODEL)))
    assert not [check for check in checks if check[2]], checks
    assert {"mask", "awkward texts", "cart", "truncated answer"} <= {what for what, *_ in checks}
    assert sum(what.startswith("menu ") for what, *_ in checks) == 2
    assert not list(tmp_path.iterdir()), "a look changes nothing"


@pytest.mark.parametrize(
    ("fault", "found"),
    [("free text", {"mask", "awkward texts", "cart"}), ("lost accents", {"awkward texts", "cart"})],
)
def test_a_server_that_fails_is_found_with_a_hint(
    fault: str, found: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if is_probe(body) and fault != "free text":
            return completion(PROBE_WORD)
        return completion("cafe") if body["max_tokens"] > 1 else completion("", "length")

    with staged_server(answer) as server:
        for name, value in {"HOME": str(tmp_path), "LLM_URL": server.url}.items():
            monkeypatch.setenv(f"SAYCART_{name}", value)
        settings.cache_clear()
        checks = list(engine_checks(settings()))
        shown = CliRunner().invoke(app, ["doctor", "--engine"])
    settings.cache_clear()
    assert {what for what, _, fix in checks if fix} == found
    assert (shown.exit_code, f"{len(found)} to fix" in shown.output) == (1, True)


@pytest.mark.models
def test_a_gguf_files_tokenizer_has_the_models_own_numbers() -> None:
    tokens = tokenizer_of(MODEL)
    fields = GGUFReader(Path(resolve(MODEL, settings().models_dir))).fields
    written = fields["tokenizer.ggml.tokens"].contents()
    assert tokens.vocab_size == len(written)
    assert tokens.eos_token == fields["tokenizer.ggml.eos_token_id"].contents()
    assert [tokens.tokenize_str(text) for text in ("two", "large", "{")] == [
        [written.index(text)] for text in ("two", "large", "{")
    ]
    assert tokens.is_special_token(written.index("<|im_end|>"))
    assert tokens.is_canonical, "or no token is forced"
    assert [tokens.decode_str(tokens.tokenize_str(text)) for text in AWKWARD] == list(AWKWARD)
