"""`make train` gives each step words that the step knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from services.learning.training import __main__ as steps
from services.learning.training import ask


def test_a_part_is_asked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    weights = tmp_path / "weights.gguf"
    weights.touch()
    given: list[list[str]] = []

    def run(step: str, *words: Any) -> None:
        given.append([*map(str, words)])
        Path(words[1]).touch()

    monkeypatch.setattr(steps, "_run", run)
    assert steps.main(["ask", "--out", str(tmp_path), "--weights", str(weights)]) == 0
    (words,) = given
    assert ask.parsed(words).parts == ["tune"]
