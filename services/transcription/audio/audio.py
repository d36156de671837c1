"""Decode a recording to samples, in a child process with limits.

FFmpeg is a large C library that parses untrusted data, so it runs in a sandbox: a child for each recording,
with an empty environment, no files or sockets, and limits on memory, CPU, wall time and output
(`audio_child.py`). The demuxer is fixed to the detected container (`containers.py`). Loading FFmpeg takes
0.12 s, so the next recording's child is started ahead.
"""

from __future__ import annotations

import math
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
import numpy.typing as npt

from infra.observability.measures import time_engine
from schemas.errors import (
    AudioDamaged,
    AudioRefused,
    AudioTooCostly,
    AudioTooLarge,
    AudioTooLong,
    EngineUnavailable,
    SaycartError,
    UnsupportedAudio,
)
from services.transcription.audio import audio_child
from services.transcription.audio.containers import AudioContainer, sniff_file
from services.transcription.audio.cut_off import is_cut_off

RATE = audio_child.RATE
"""Sample rate of decoded audio, as Whisper expects."""

Samples = npt.NDArray[np.float32]

DEMUXERS = {
    AudioContainer.WAV: "wav",
    AudioContainer.FLAC: "flac",
    AudioContainer.OGG: "ogg",
    AudioContainer.MP3: "mp3",
    AudioContainer.M4A: "mp4",
    AudioContainer.WEBM: "matroska",
}


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """Limits of one decoding: seconds of audio, bytes of file, bytes of address space, wall and CPU seconds.

    Past the CPU limit the recording is refused; past the wall limit the machine was too slow, and it is
    retried. The CPU limit is at most half of the wall limit, so that it is reached first on a busy core."""

    max_audio_s: float = 60.0
    max_bytes: int = 15_000_000
    memory_bytes: int = 1_000_000_000
    child_s: float = 20.0
    cpu_s: float = 5.0

    @property
    def whole_cpu_s(self) -> int:
        """The CPU limit in whole seconds, at least 1."""
        return max(1, math.floor(min(self.cpu_s, self.child_s / 2)))

    @property
    def max_samples(self) -> int:
        return int(self.max_audio_s * RATE)


def read(path: Path, limits: DecodeLimits) -> Samples:
    """Detect a recording's container, and decode it, unless it is cut off.

    Raises:
        UnsupportedAudio, AudioTooLarge, AudioTooLong, AudioTooCostly, AudioDamaged: the recording is refused.
        EngineUnavailable: as `decode`.
    """
    with time_engine("audio_decoding"):
        container = sniff_file(path)
        samples = decode(path, container, limits)
        if is_cut_off(path, container):
            raise AudioDamaged(_CUT_OFF)
        return samples


def decode(path: Path, container: AudioContainer, limits: DecodeLimits) -> Samples:
    """Return the first audio stream of a file: shape (n,), float32 in -1..1, mono, `RATE` Hz.

    Raises:
        AudioTooLarge: over `max_bytes`.
        AudioTooLong: over `max_audio_s`; decoding stops there, however long the file is.
        AudioTooCostly: it exceeds memory or CPU time, or changes its format too often.
        AudioDamaged: undecodable, cut off, without audio, or it crashed the decoder.
        UnsupportedAudio: the container is accepted, its codec isn't.
        EngineUnavailable: the child couldn't be run, or was too slow.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise AudioTooLarge(f"The recording has {size} bytes; at most {limits.max_bytes} are accepted.")
    with path.open("rb") as recording:
        raw, status = _run(recording, DEMUXERS[container], limits)
    if len(raw) > limits.max_samples * 4:  # the child checks this as well, unless it was compromised
        raise _too_long(limits)
    if status:
        raise _error(status, limits)
    samples: Samples = np.frombuffer(raw, dtype=np.float32)
    if not samples.size:
        raise AudioDamaged("There is no audio in it.")
    # Float recordings can hold anything, and a single NaN ruins the whole spectrogram.
    return np.clip(np.nan_to_num(samples, posinf=0.0, neginf=0.0), -1.0, 1.0)


class _Child:
    """A process that loads FFmpeg and waits for its recording."""

    _ahead: _Child | None = None
    _lock = threading.Lock()

    def __init__(self) -> None:
        """Raises EngineUnavailable: it couldn't be started."""
        self.socket, remote = socket.socketpair()
        # -I ignores PYTHON* variables, the user's site and the working directory.
        command = [sys.executable, "-I", audio_child.__file__]
        out, errors = subprocess.PIPE, subprocess.DEVNULL
        try:
            with remote:
                self.process = subprocess.Popen(
                    command, stdin=remote.fileno(), stdout=out, stderr=errors, env={}, cwd=os.sep
                )
        except OSError as error:
            raise EngineUnavailable(f"The decoding process couldn't be started: {error}.") from error

    @classmethod
    def take(cls) -> _Child:
        """Return the one that was started ahead, or a new one."""
        with cls._lock:
            child, cls._ahead = cls._ahead, None
        return child if child and child.process.poll() is None else cls()

    @classmethod
    def start_ahead(cls) -> None:
        """Start the next recording's child, if possible; its socket closes when this process ends."""
        with cls._lock, suppress(EngineUnavailable):  # the next call tries again
            cls._ahead = cls._ahead or cls()


def _run(recording: IO[bytes], demuxer: str, limits: DecodeLimits) -> tuple[bytes, int]:
    """Return a child's output, and its exit status or minus the signal that ended it.

    Raises:
        EngineUnavailable: it couldn't be started, or was stopped after `child_s` seconds.
    """
    arguments = (demuxer, limits.max_audio_s, limits.memory_bytes, limits.whole_cpu_s)
    began, child = time.monotonic(), _Child.take()
    process = child.process
    timer = threading.Timer(limits.child_s, process.kill)
    timer.start()
    with process:
        assert process.stdout is not None
        with child.socket, suppress(BrokenPipeError):  # the child has ended
            socket.send_fds(child.socket, [" ".join(map(str, arguments)).encode()], [recording.fileno()])
        raw = process.stdout.read(limits.max_samples * 4 + 1)
        if len(raw) > limits.max_samples * 4:
            process.kill()
    timer.cancel()
    _Child.start_ahead()
    if process.returncode == -signal.SIGKILL and time.monotonic() - began >= limits.child_s:
        raise EngineUnavailable(f"Decoding took longer than {limits.child_s:.0f} s.")
    return raw, process.returncode


def _too_long(limits: DecodeLimits) -> AudioTooLong:
    return AudioTooLong(f"The recording is longer than {limits.max_audio_s:.0f} s.")


_CUT_OFF = "The recording is cut off."
_REFUSED: dict[int, tuple[type[AudioRefused], str]] = {
    audio_child.UNDECODABLE: (AudioDamaged, "The recording can't be decoded."),
    audio_child.CUT_OFF: (AudioDamaged, _CUT_OFF),
    audio_child.NO_AUDIO: (AudioDamaged, "There is no audio in it."),
    audio_child.OTHER_CODEC: (UnsupportedAudio, "Its codec is not accepted."),
    audio_child.OUT_OF_MEMORY: (AudioTooCostly, "Decoding it takes more memory than speech ever needs."),
    audio_child.TOO_MANY_FORMATS: (AudioTooCostly, "It changes its sample rate or channels too often."),
    -signal.SIGXCPU: (AudioTooCostly, "Decoding it takes more time than speech ever needs."),
}


def _error(status: int, limits: DecodeLimits) -> SaycartError:
    """Return the error of a child's exit status. A signal other than KILL is the recording's fault."""
    if status == audio_child.TOO_LONG:
        return _too_long(limits)
    if status in _REFUSED:
        kind, text = _REFUSED[status]
        return kind(text)
    if status < 0 and status != -signal.SIGKILL:  # SIGKILL: the system was out of memory
        return AudioDamaged("The recording crashed the decoder.")
    return EngineUnavailable(f"The decoding process ended with status {status}.")
