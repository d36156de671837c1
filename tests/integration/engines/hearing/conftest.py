"""A decoding child that misbehaves."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from services.transcription.audio import audio, audio_child


@pytest.fixture
def child_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Return a function that injects code into the child between confinement and decoding."""

    source = Path(audio_child.__file__).read_text()

    def tampered(code: str) -> None:
        before = "    remaining = int("
        assert source.count(before) == 1
        program = tmp_path / "child.py"
        program.write_text(source.replace(before, f"    {code}\n{before}"))
        monkeypatch.setattr(audio_child, "__file__", str(program))
        monkeypatch.setattr(audio._Child, "_ahead", None)  # the original may be running

    return tampered
