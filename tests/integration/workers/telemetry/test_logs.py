"""Log files of child processes are rotated while they are written, in whole lines."""

from __future__ import annotations

import os
import shutil
import sys
from pathlib import Path
from unittest.mock import Mock

import pytest

from infra.processes import child as children
from infra.processes.child import Child, ChildFailed, log_tail, rotate
from infra.processes.supervisor import Supervisor
from tests.waiting import until

CAP = 100_000
# Writes numbered lines, as does a child that inherits the file.
CHATTY = """
import os, subprocess, sys, time
name = sys.argv[1]
if name == "outer":
    subprocess.Popen([sys.executable, "-c", sys.argv[2], "inner", sys.argv[2]])
for number in range(100_000_000):
    os.write(1, f"{name} {number:09d} {'x' * 80}\\n".encode())
    if number % 100 == 0:
        time.sleep(0.005)
"""
DIES = """
import sys, time
print("x" * 2_000_000, flush=True)
time.sleep(2.5)
print("its last words", flush=True)
raise SystemExit(3)
"""


@pytest.fixture(autouse=True)
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(children, "LOG_CAP", CAP)


def test_a_log_is_rotated_while_it_is_written(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "chatty.log"
    supervisor = Supervisor(tmp_path)
    supervisor.start([Child("chatty", (sys.executable, "-c", CHATTY, "outer", CHATTY), log, log.exists)])
    older = log.with_name("chatty.log.1")
    try:
        first = supervisor.pid("chatty")
        until(older.exists)
        until(lambda: 1000 < log.stat().st_size < CAP)
        assert supervisor.pid("chatty") == first, "it was not restarted"
    finally:
        supervisor.stop()
    assert {path.name for path in log.parent.iterdir()} == {"chatty.log", "chatty.log.1"}
    lines: dict[bytes, list[int]] = {b"outer": [], b"inner": []}
    for file in (older, log):
        text = file.read_bytes()
        assert b"\0" not in text, "a hole, as of a writer that does not append"
        for line in text.splitlines()[:-1]:
            name, count, filler = line.split()
            assert filler == b"x" * 80
            lines[name].append(int(count))
    for counts in lines.values():
        assert counts, "the child that inherited the file goes on, too"
        assert counts == sorted(set(counts)), "in order, and none twice"


def test_a_log_is_truncated_if_it_can_not_be_copied(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = tmp_path / "part.log"
    log.write_bytes(b"line\n" * CAP)
    monkeypatch.setattr(shutil, "copyfile", Mock(side_effect=OSError(28, os.strerror(28))))
    assert rotate(log)
    assert {path.name for path in tmp_path.iterdir()} == {"part.log"}
    assert log.stat().st_size == 0
    assert not rotate(tmp_path / "nothing.log")


def test_the_last_line_is_found_after_rotation(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "dies.log"
    log.parent.mkdir()
    log.write_bytes(b"an earlier life\n" * 5_000)
    child = Child("dies", (sys.executable, "-c", DIES), log, lambda: True, quick_deaths=1)
    supervisor = Supervisor(tmp_path)
    supervisor.start([child])
    with pytest.raises(ChildFailed, match="Its last log line: its last words"):
        supervisor.wait(20)
    supervisor.stop()
    assert log_tail(log, since=10**9) == "its last words", "a mark beyond the end is of before"
