"""Logs of children that write without end: put aside while they run, whole lines, bounded in all."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from infra.observability import logs
from infra.observability.logs import BACKUPS, backup, rotate
from infra.processes.child import Child, ChildFailed, Restart, log_tail
from infra.processes.supervisor import Supervisor
from tests.waiting import until

CAP = 100_000
# Numbered lines, by itself and by a child of its own that has inherited the file.
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


def size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.iterdir())


def chatty(home: Path) -> Child:
    log = home / "logs" / "chatty.log"
    return Child("chatty", (sys.executable, "-c", CHATTY, "outer", CHATTY), log, log.exists)


def test_a_log_is_put_aside_while_its_writers_go_on(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path, log_cap=CAP)
    supervisor.start([chatty(tmp_path)])
    log, folder = tmp_path / "logs" / "chatty.log", tmp_path / "logs"
    try:
        first = supervisor.pid("chatty")
        largest = 0

        def rotated_often() -> bool:
            nonlocal largest
            largest = max(largest, log.stat().st_size)
            return backup(log, BACKUPS).exists()

        until(rotated_often)
        until(lambda: log.stat().st_size > 1000)
        assert supervisor.pid("chatty") == first, "nobody was restarted for it"
    finally:
        supervisor.stop()
    names = {path.name for path in folder.iterdir()}
    assert names == {"chatty.log", *(f"chatty.log.{number}" for number in range(1, BACKUPS + 1))}
    assert all(backup(log, number).stat().st_size <= 2 * CAP for number in range(1, BACKUPS + 1))
    assert size(folder) <= 2 * BACKUPS * CAP + largest, "and what was written between two looks"
    lines: dict[bytes, list[int]] = {b"outer": [], b"inner": []}
    for number in range(BACKUPS, -1, -1):
        text = (backup(log, number) if number else log).read_bytes()
        assert b"\0" not in text, "a hole, as of a writer that does not append"
        for line in text.splitlines()[: None if number == 0 else -1]:
            name, count, filler = line.split()
            assert filler == b"x" * 80
            lines[name].append(int(count))
    for counts in lines.values():
        assert counts, "whoever has inherited the file goes on, too"
        assert counts == sorted(set(counts)), "in order, and none twice"


def test_what_a_flood_leaves_is_bounded_and_ends_with_the_newest(tmp_path: Path) -> None:
    log = tmp_path / "part.log"
    with log.open("ab", buffering=0) as writer:
        for number in range(1, 8):
            writer.write(b"".join(b"%d line %06d\n" % (number, n) for n in range(50_000)))
            assert rotate(log, CAP)
            assert log.stat().st_size == 0
            assert not rotate(log, CAP), "short again"
            newest = backup(log, 1).read_bytes()
            assert CAP < len(newest) <= 2 * CAP
            assert newest.startswith(b"%d line " % number)
            assert newest.endswith(b"%d line 049999\n" % number)
        writer.write(b"after\n")
    assert log.read_bytes() == b"after\n"
    assert [backup(log, n).read_bytes()[:1] for n in range(1, BACKUPS + 1)] == [b"7", b"6", b"5"]
    assert size(tmp_path) <= 2 * BACKUPS * CAP + 6


def test_with_no_room_for_a_copy_the_log_is_cut_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    log = tmp_path / "part.log"
    log.write_bytes(b"line\n" * CAP)

    def full(*_: object) -> bytes:
        raise OSError(28, os.strerror(28))

    monkeypatch.setattr(logs.os, "pread", full)
    assert rotate(log, CAP)
    assert {path.name for path in tmp_path.iterdir()} == {"part.log"}
    assert log.stat().st_size == 0
    assert not rotate(tmp_path / "nothing.log", CAP)


def test_the_last_words_are_found_after_the_log_was_put_aside(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "dies.log"
    log.parent.mkdir()
    log.write_bytes(b"an earlier life\n" * 5_000)
    child = Child("dies", (sys.executable, "-c", DIES), log, lambda: True, restart=Restart(quick_deaths=1))
    supervisor = Supervisor(tmp_path, log_cap=CAP)
    supervisor.start([child])
    with pytest.raises(ChildFailed, match="Its last log line: its last words"):
        supervisor.wait(20)
    supervisor.stop()
    assert log_tail(log, since=10**9) == "its last words", "a mark beyond the end is of before"
