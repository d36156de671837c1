"""No log line holds what a customer said, at any level, whatever goes wrong."""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

import pytest

from infra.observability.telemetry import trace
from infra.settings import REPOSITORY
from tests.integration.marked import WORD


def test_the_word_is_in_no_line(tmp_path: Path, database_url: str) -> None:
    program = [sys.executable, str(Path(__file__).parents[2] / "marked.py"), str(tmp_path), database_url]
    done = subprocess.run(
        program,
        cwd=REPOSITORY,
        env={"PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    lines = (done.stdout + done.stderr).splitlines()
    assert [line for line in lines if WORD in line.lower()] == []
    # It would prove nothing if these had not been logged.
    happened = set(re.findall(r"event='([\w.]+)'", done.stderr))
    assert happened >= {
        "order.accepted", "stage.done", "stage.fault", "stage.failed", "stage.refused", "request.done",
        "request.failed", "row.left_out", "review.decided", "request.refused", "the.database_refuses",
    }  # fmt: skip
    assert "level='debug'" in done.stderr
    # What helps to find a fault is still there.
    assert "ValidationError" in done.stderr
    assert "orders.py" in done.stderr


def test_a_traceback_tells_where_and_of_machines_why() -> None:
    def broken() -> None:
        try:
            raise ValueError(WORD)
        except ValueError as error:
            raise ConnectionRefusedError(111, "nobody there", "/run/x") from error

    with pytest.raises(OSError, match="nobody") as caught:
        broken()
    told = trace((caught.type, caught.value, caught.tb))
    assert "nobody there: '/run/x'" in told
    assert "ValueError" in told
    assert "test_logs_words.py" in told
    assert WORD not in told
