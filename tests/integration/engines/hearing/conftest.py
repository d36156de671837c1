"""The decoding child, made to misbehave."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from services.transcription.audio import audio_child, audio_parent


@pytest.fixture
def child_that(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[..., None]]:
    """Have the child do something once it is confined, before it decodes."""

    source = Path(audio_child.__file__).read_text()

    def tampered(code: str) -> None:
        before = "    room = int("
        assert source.count(before) == 1
        program = tmp_path / "child.py"
        program.write_text(source.replace(before, f"    {code}\n{before}"))
        monkeypatch.setattr(audio_child, "__file__", str(program))
        audio_parent.end()

    yield tampered
    audio_parent.end()
