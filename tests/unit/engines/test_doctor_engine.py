"""`saycart doctor --engine`: a good server passes each check, and each fault has a line and a hint."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.settings import Settings, settings
from services.cli.commands.doctor_engine import engine_checks
from services.cli.main import app
from services.decoding.wire_mask import PROBE_ANSWER
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
    ("fault", "failing"),
    [("free text", {"mask", "awkward texts", "cart"}), ("lost accents", {"awkward texts", "cart"})],
)
def test_a_server_that_fails_is_found_with_a_hint(
    fault: str, failing: set[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def answer(body: dict[str, Any]) -> Answer:
        if is_probe(body) and fault != "free text":
            return completion(PROBE_ANSWER)
        return completion("cafe") if body["max_tokens"] > 1 else completion("", "length")

    with staged_server(answer) as server:
        for name, value in {"HOME": str(tmp_path), "LLM_URL": server.url}.items():
            monkeypatch.setenv(f"SAYCART_{name}", value)
        settings.cache_clear()
        checks = list(engine_checks(settings()))
        shown = CliRunner().invoke(app, ["doctor", "--engine"])
    settings.cache_clear()
    assert {what for what, _, fix in checks if fix} == failing
    assert (shown.exit_code, f"{len(failing)} to fix" in shown.output) == (1, True)


def test_a_variable_that_no_setting_has_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAYCART_READY_FILE", "ready")
    monkeypatch.setenv("SAYCART_DATABASE_URL", "sqlite:///")  # without the prefix
    assert "there is no SAYCART_DATABASE_URL" in CliRunner().invoke(app, ["doctor"]).stdout
