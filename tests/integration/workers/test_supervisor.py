"""The supervisor with real child processes."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest

from infra.processes.leftovers import MARK, mark_of
from infra.processes.supervisor import Child, ChildFailed, Supervisor, SupervisorError
from tests.waiting import until

# Reports that it is ready and has a child, like a Celery worker.
PARENT = """
import pathlib, subprocess, sys, time
inner = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"])
pathlib.Path(sys.argv[1]).write_text(str(inner.pid))
print("up", flush=True)
time.sleep(600)
"""
# Its own child writes over its environment, as a program does that shows a title of its own (vLLM's engine).
# Fields 50 and 51 of /proc/PID/stat (proc(5)) say where it stands.
WIPE = """
import ctypes, time
fields = open('/proc/self/stat').read().rpartition(')')[2].split()
ctypes.memset(int(fields[47]), 0, int(fields[48]) - int(fields[47]))
time.sleep(600)
"""
TITLED = PARENT.replace('"import time; time.sleep(600)"', repr(WIPE))
STUBBORN = "import signal; signal.signal(signal.SIGTERM, signal.SIG_IGN);" + PARENT
# A supervisor in a separate process, to be killed.
STACK = """
import sys
from pathlib import Path
from infra.processes.supervisor import Child, Supervisor
home, code = Path(sys.argv[1]), sys.argv[2]
ready = home / "inner"
child = Child("part", (sys.executable, "-c", code, str(ready)), home / "part.log", ready.exists)
supervisor = Supervisor(home)
supervisor.start([child])
print(supervisor.pid("part"), flush=True)
supervisor.wait()
"""


def gone(pid: int) -> bool:
    return not psutil.pid_exists(pid) or psutil.Process(pid).status() == psutil.STATUS_ZOMBIE


def part(home: Path, code: str = PARENT, name: str = "part", **more: object) -> Child:
    ready = home / f"{name}.inner"
    argv = (sys.executable, "-c", code, str(ready))
    return Child(name, argv, home / "logs" / f"{name}.log", lambda: bool(_inner(ready)), **more)  # type: ignore[arg-type]


def _inner(path: Path) -> int:
    try:
        return int(path.read_text() or 0)
    except FileNotFoundError:
        return 0


def pid_of(supervisor: Supervisor, name: str = "part") -> int:
    pid = supervisor.pid(name)
    assert pid is not None
    return pid


def test_children_start_by_dependency_and_stop_in_reverse(tmp_path: Path) -> None:
    seen: list[tuple[str, str]] = []
    supervisor = Supervisor(tmp_path, lambda *change: seen.append(change))
    supervisor.start([part(tmp_path, name="second", needs=("first",)), part(tmp_path, name="first")])
    pids = [pid_of(supervisor, name) for name in ("first", "second")]
    pids += [_inner(tmp_path / f"{name}.inner") for name in ("first", "second")]
    supervisor.stop()
    assert [(name, status.split()[0]) for name, status in seen] == [
        ("first", "starting"),
        ("first", "ready"),
        ("second", "starting"),
        ("second", "ready"),
        ("second", "stopping"),
        ("second", "stopped"),
        ("first", "stopping"),
        ("first", "stopped"),
    ]
    assert all(gone(pid) for pid in pids)
    assert "up" in (tmp_path / "logs" / "first.log").read_text()
    supervisor.stop()


def test_a_child_that_ignores_term_is_killed_with_its_own_children(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    supervisor.start([part(tmp_path, STUBBORN, stop_s=0.3)])
    pids = [pid_of(supervisor), _inner(tmp_path / "part.inner")]
    supervisor.stop()
    assert all(gone(pid) for pid in pids)


@pytest.mark.skipif(not Path("/proc/self/autogroup").exists(), reason="this kernel doesn't group by session")
def test_a_nice_childs_session_has_a_lower_priority(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    supervisor.start([part(tmp_path, nice=7), part(tmp_path, name="other")])
    groups = [Path(f"/proc/{pid_of(supervisor, name)}/autogroup").read_text() for name in ("part", "other")]
    supervisor.stop()
    assert [group.split()[1:] for group in groups] == [["nice", "7"], ["nice", "0"]]


def environment(pid: int) -> bytes:
    return Path(f"/proc/{pid}/environ").read_bytes()


@pytest.mark.parametrize("code", [PARENT, TITLED], ids=["marked", "environment written over"])
def test_a_dead_child_is_restarted_and_its_orphan_killed(tmp_path: Path, code: str) -> None:
    seen: list[tuple[str, str]] = []
    supervisor = Supervisor(tmp_path, lambda *change: seen.append(change))
    supervisor.start([part(tmp_path, code, restart_delay_s=0.05)])
    try:
        first, orphan = pid_of(supervisor), _inner(tmp_path / "part.inner")
        until(lambda: (MARK.encode() in environment(orphan)) == (code == PARENT))
        os.kill(first, signal.SIGKILL)
        until(lambda: supervisor.pid("part") not in (None, first))
        until(lambda: sum(status.startswith("ready") for _, status in seen) == 2)
        assert gone(orphan)
        assert any(status.startswith("died (ended with signal SIGKILL") for _, status in seen)
    finally:
        supervisor.stop()


def test_a_child_that_keeps_dying_is_given_up(tmp_path: Path) -> None:
    supervisor = Supervisor(tmp_path)
    other = part(tmp_path, name="other")
    broken = part(tmp_path, "print('no such model: x'); raise SystemExit(7)", "broken", restart_delay_s=0.02)
    with pytest.raises(ChildFailed) as caught:
        supervisor.start([other, broken])
    assert "broken ended with exit code 7, 3 times in a row" in caught.value.detail
    assert "no such model: x" in caught.value.detail
    assert "broken.log" in caught.value.hint
    assert supervisor.pid("other") is None


def test_a_child_that_never_becomes_ready_is_an_error(tmp_path: Path) -> None:
    silent = part(
        tmp_path, "import time; print('thinking', flush=True); time.sleep(600)", ready_timeout_s=1.0
    )
    with pytest.raises(ChildFailed, match=r"part was not ready within 1 s\. Its last log line: thinking"):
        Supervisor(tmp_path).start([silent])
    missing = Child("part", ("/no/such/program",), tmp_path / "log", lambda: True)
    with pytest.raises(ChildFailed, match="could not be started"):
        Supervisor(tmp_path).start([missing])


def test_a_second_supervisor_in_the_same_home_is_refused(tmp_path: Path) -> None:
    first = Supervisor(tmp_path, about="http://127.0.0.1:8420")
    first.start([part(tmp_path)])
    try:
        with pytest.raises(SupervisorError) as caught:
            Supervisor(tmp_path).start([])
        assert f"pid {os.getpid()} http://127.0.0.1:8420" in caught.value.detail
        assert "SAYCART_HOME" in caught.value.hint
    finally:
        first.stop()
    again = Supervisor(tmp_path)
    again.claim()
    again.stop()


@pytest.mark.parametrize("code", [PARENT, STUBBORN], ids=["polite", "ignores TERM"])
def test_a_supervisor_kills_only_its_predecessors_children(tmp_path: Path, code: str) -> None:
    other = tmp_path / "other"
    other.mkdir()
    stranger = subprocess.Popen(["sleep", "600"], env=os.environ | {MARK: mark_of(other)})
    stack = subprocess.Popen(
        [sys.executable, "-c", STACK, str(tmp_path), code],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert stack.stdout is not None
    pids = [int(stack.stdout.readline()), int((tmp_path / "inner").read_text())]
    stack.kill()
    stack.wait()
    stack.stdout.close()
    if code == PARENT:
        until(lambda: gone(pids[0]), within_s=15)  # the kernel sends it TERM
    again = Supervisor(tmp_path)
    again.claim()
    again.stop()
    assert [gone(pid) for pid in (*pids, stranger.pid)] == [True, True, False]
    stranger.kill()
    stranger.wait()
