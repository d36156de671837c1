"""A stop signal ends the wait at whatever moment it falls; a file says that a worker takes orders."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from infra.processes.ready_file import ReadyFile
from services.workers import app

# A fresh interpreter: the handlers and the wake-up descriptor belong to a whole process. The alarm falls at a
# random moment around the start of each wait, where a handler that sets an Event hangs within seconds.
STORM = """
import os, random, signal
from infra.processes.signals import StopSignal
stop = StopSignal()
signal.signal(signal.SIGALRM, lambda *_: None)
for _ in range(20_000):
    signal.setitimer(signal.ITIMER_REAL, random.uniform(1e-6, 3e-5))
    assert stop.wait(30)
    os.read(stop._read, 1)
print("fine")
"""
WAIT = """
from infra.processes.signals import StopSignal
stop = StopSignal()
assert not stop.wait(0.01)
print("ready", flush=True)
assert stop.wait() and stop.wait(0)
print("stopped")
"""


def test_no_moment_loses_the_signal() -> None:
    done = subprocess.run([sys.executable, "-c", STORM], capture_output=True, text=True, timeout=25)
    assert done.stdout == "fine\n", done.stderr


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_waits_until_a_signal_and_then_stays_stopped(number: signal.Signals) -> None:
    process = subprocess.Popen([sys.executable, "-c", WAIT], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "ready\n"
        process.send_signal(number)
        assert process.communicate(timeout=10)[0] == "stopped\n"
        assert process.returncode == 0
    finally:
        process.kill()


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
