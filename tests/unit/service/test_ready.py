"""The file by which a worker says that it takes orders."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from infra.processes.ready_file import ReadyFile
from services.workers import app


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    named = tmp_path / "part.ready"
    monkeypatch.setenv("SAYCART_READY_FILE", str(named))
    return named


def test_what_an_earlier_life_left_does_not_count(file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(app, "_queues", ())
    file.touch()
    app._remember_queues(options={"queues": "decode"})
    assert not file.exists()


def test_a_worker_that_is_told_to_stop_is_ready_no_more(file: Path) -> None:
    file.touch()
    app._begin_to_stop()
    assert not file.exists()


def test_its_age_tells_when_a_turn_began(file: Path) -> None:
    ready = ReadyFile()
    ready.beat()
    os.utime(file, (1, 1))
    ready.beat()
    assert file.stat().st_mtime > 1
    ready.remove()
    assert not file.exists()
