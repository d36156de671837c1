"""The client of the process that forks decoding children (`audio_child.py`).

Each of our processes has one, started on first use: a recording then takes a fork of some 5 ms rather than
starting Python with FFmpeg, 0.12 s. It is replaced after any failure, and exits with its owner, which closes
the socket.
"""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import sys
import threading
from contextlib import suppress
from dataclasses import dataclass
from typing import IO

from schemas.errors import EngineUnavailable
from services.transcription.audio import audio_child


@dataclass(frozen=True, slots=True)
class ChildResult:
    """A child's output and exit status (minus the signal that ended it), and whether it was stopped because
    of its time or its output."""

    raw: bytes
    status: int
    timed_out: bool = False
    too_long: bool = False


class Parent:
    """The forking process; raises EngineUnavailable if it can't be started."""

    def __init__(self) -> None:
        self.owner = os.getpid()
        self._ours, theirs = socket.socketpair()
        with theirs:
            try:
                self._process = subprocess.Popen(
                    # -I ignores PYTHON* variables, the user's site and the working directory.
                    [sys.executable, "-I", audio_child.__file__],
                    stdin=theirs.fileno(),
                    stdout=subprocess.DEVNULL,
                    stderr=subprocess.DEVNULL,
                    env={},
                    cwd=os.sep,
                    start_new_session=True,  # to be killed with its children
                )
            except OSError as error:
                self._ours.close()
                raise EngineUnavailable(f"The decoding process couldn't be started: {error}.") from error

    @property
    def usable(self) -> bool:
        """True if it runs, and wasn't inherited by a fork."""
        return self.owner == os.getpid() and self._process.poll() is None

    def run(self, recording: IO[bytes], request: str, *, max_output: int, limit_s: float) -> ChildResult:
        """Have a child decode `recording`, with at most `max_output` bytes of output in `limit_s` seconds.
        After stopping a child, or a broken socket, this parent is no longer `usable`."""
        timed_out = threading.Event()

        def stop() -> None:
            timed_out.set()
            self.end()

        timer = threading.Timer(limit_s, stop)
        timer.start()
        try:
            with self._send(recording, request) as output:
                raw = output.read(max_output + 1)
                if len(raw) > max_output:  # the child counts too, unless it was taken over
                    self.end()
                    return ChildResult(raw, -signal.SIGKILL, too_long=True)
            answer = self._ours.recv(64)
        except OSError:  # it is gone
            answer = b""
        finally:
            timer.cancel()
        if timed_out.is_set() or not answer:
            self.end()
            return ChildResult(b"", -signal.SIGKILL, timed_out=timed_out.is_set())
        return ChildResult(raw, int(answer))

    def _send(self, recording: IO[bytes], request: str) -> IO[bytes]:
        """Send the request; return the pipe with the samples."""
        read, write = os.pipe()
        try:
            socket.send_fds(self._ours, [request.encode()], [recording.fileno(), write])
        except OSError:
            os.close(read)
            raise
        finally:
            os.close(write)
        return os.fdopen(read, "rb")

    def close(self) -> None:
        """Close it; an inherited copy leaves the process to its owner."""
        if self.owner == os.getpid():
            self.end()
        self._ours.close()

    def end(self) -> None:
        """Kill it with its children; harmless if repeated."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_lock = threading.Lock()
_parent: Parent | None = None


def run(recording: IO[bytes], request: str, *, max_output: int, limit_s: float) -> ChildResult:
    """See `Parent.run`; one recording at a time in this process.

    Raises:
        EngineUnavailable: the process couldn't be started.
    """
    global _parent
    with _lock:
        if _parent is not None and not _parent.usable:
            _parent.close()
            _parent = None
        if _parent is None:
            _parent = Parent()
        return _parent.run(recording, request, max_output=max_output, limit_s=limit_s)


def end() -> None:
    """Stop this process's parent, if any; the next recording starts another."""
    global _parent
    with _lock:
        if _parent is not None:
            _parent.close()
        _parent = None
