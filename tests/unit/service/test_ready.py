"""The file by which a worker says that it takes orders."""

from __future__ import annotations

import os
from itertools import permutations
from pathlib import Path

import pytest

from infra.processes.ready_file import ReadyFile
from services.workers import app


@pytest.mark.parametrize("parts", list(permutations(("engines", "messages"))))
def test_a_worker_is_ready_with_its_last_part(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, parts: tuple[str, str]
) -> None:
    """The process with the models may be there before the one that takes messages, or after it."""
    file = tmp_path / "decode.ready"
    monkeypatch.setenv("SAYCART_READY_FILE", str(file))
    for part in parts:
        assert not file.exists()
        app._ready(part)
    assert file.exists()


def test_what_an_earlier_life_left_does_not_count(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "decode.ready"
    monkeypatch.setenv("SAYCART_READY_FILE", str(file))
    monkeypatch.setattr(app, "_queues", ())
    app._ready("engines")
    app._remember_queues(options={"queues": "decode"})
    app._ready("messages")
    assert not file.exists()


def test_a_worker_that_is_told_to_stop_is_ready_no_more(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = tmp_path / "decode.ready"
    monkeypatch.setenv("SAYCART_READY_FILE", str(file))
    app._ready("engines")
    app._ready("messages")
    app._begin_to_stop()
    assert not file.exists()


def test_its_age_tells_when_a_turn_began(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "sweeper.ready"
    monkeypatch.setenv("SAYCART_READY_FILE", str(file))
    ready = ReadyFile()
    ready.beat()
    os.utime(file, (1, 1))
    ready.beat()
    assert file.stat().st_mtime > 1
    ready.remove()
    assert not file.exists()
