"""The process that decoding children are forked from (`audio_child.py`), as the process that asks sees it.

One for each process of ours, started when first needed and kept: a recording then costs a fork of some 5 ms
and not the start of a Python with FFmpeg, 0.12 s. It is replaced after anything odd, and ends by itself with
the process that it belongs to, since their socket ends.
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
class Ended:
    """What came of one child: its raw output, its exit status (minus the signal that ended it), and whether
    it was stopped for taking too long or saying too much."""

    raw: bytes
    status: int
    late: bool = False
    endless: bool = False


class Parent:
    """Starts the process; raises EngineUnavailable where that can't be done."""

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
                    start_new_session=True,  # a group of its own, to be killed with its children
                )
            except OSError as error:
                self._ours.close()
                raise EngineUnavailable(f"The decoding process could not be started: {error}.") from error

    @property
    def well(self) -> bool:
        """Whether it may be asked: it runs, and it is not another process's, copied by a fork."""
        return self.owner == os.getpid() and self._process.poll() is None

    def run(self, recording: IO[bytes], request: str, *, room: int, limit_s: float) -> Ended:
        """Have one child decode `recording`; at most `room` bytes of its output are read, for `limit_s`
        seconds. After a child that was stopped, or a broken socket, this parent is no longer `well`."""
        late = threading.Event()

        def stop() -> None:
            late.set()
            self.end()

        timer = threading.Timer(limit_s, stop)
        timer.start()
        try:
            with self._asked(recording, request) as output:
                raw = output.read(room + 1)
                if len(raw) > room:  # the child counts too; this holds if it was taken over
                    self.end()
                    return Ended(raw, -signal.SIGKILL, endless=True)
            answer = self._ours.recv(64)
        except OSError:  # it is gone
            answer = b""
        finally:
            timer.cancel()
        if late.is_set() or not answer:
            self.end()
            return Ended(b"", -signal.SIGKILL, late=late.is_set())
        return Ended(raw, int(answer))

    def _asked(self, recording: IO[bytes], request: str) -> IO[bytes]:
        """The request is sent; the pipe that the samples come out of."""
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
        """Have done with it; a copy made by a fork leaves the process to its owner."""
        if self.owner == os.getpid():
            self.end()
        self._ours.close()

    def end(self) -> None:
        """Kill it with its children; harmless when repeated."""
        with suppress(ProcessLookupError, PermissionError):
            os.killpg(self._process.pid, signal.SIGKILL)
        self._process.wait()


_lock = threading.Lock()
_parent: Parent | None = None


def run(recording: IO[bytes], request: str, *, room: int, limit_s: float) -> Ended:
    """See `Parent.run`; one recording at a time in this process.

    Raises:
        EngineUnavailable: the process could not be started.
    """
    global _parent
    with _lock:
        if _parent is not None and not _parent.well:
            _parent.close()
            _parent = None
        if _parent is None:
            _parent = Parent()
        return _parent.run(recording, request, room=room, limit_s=limit_s)


def end() -> None:
    """End this process's parent, if it has one; the next recording starts another."""
    global _parent
    with _lock:
        if _parent is not None:
            _parent.close()
        _parent = None
