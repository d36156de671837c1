"""Recording -> samples, decoded in a child process under limits.

One call takes about 10 ms on an idle core, and the first of a process 0.12 s more (`audio_parent.py`).

FFmpeg is a large C library that reads a stranger's bytes, so it runs where it can do no harm: a child with
an empty environment, no file or socket to open, and limits on memory, CPU, wall time and output. The
demuxer is forced to the sniffed container (`containers.py` says why).
"""

from __future__ import annotations

import math
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from infra.observability.measures import engine_took
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
from services.transcription.audio import audio_child, audio_parent
from services.transcription.audio.containers import Container, sniff_file
from services.transcription.audio.declared import check_whole

RATE = audio_child.RATE
"""Samples a second of everything that leaves `decode`; what Whisper takes."""

Samples = npt.NDArray[np.float32]

DEMUXERS = {
    Container.WAV: "wav",
    Container.FLAC: "flac",
    Container.OGG: "ogg",
    Container.MP3: "mp3",
    Container.M4A: "mp4",
    Container.WEBM: "matroska",
}


@dataclass(frozen=True, slots=True)
class DecodeLimits:
    """Bounds of one decoding: seconds of audio, bytes of file, bytes of address space, wall s and CPU s.

    Past the CPU seconds the recording is at fault, for good; past the wall seconds this machine is, which is
    tried again. So that the first is reached first, also by a child that has to share its core, at most half
    of the wall seconds count."""

    max_audio_s: float = 60.0
    max_bytes: int = 15_000_000
    memory_bytes: int = 1_000_000_000
    child_s: float = 20.0
    cpu_s: float = 5.0

    @property
    def whole_cpu_s(self) -> int:
        """The CPU seconds as the kernel takes them, from 1 up."""
        return max(1, math.floor(min(self.cpu_s, self.child_s / 2)))


def read(path: Path, limits: DecodeLimits) -> Samples:
    """The samples of a whole recording: its container known by its first bytes, decoded, and compared with
    the length that it declares.

    Raises:
        UnsupportedAudio, AudioTooLarge, AudioTooLong, AudioTooCostly, AudioDamaged: the recording itself.
        EngineUnavailable: as `decode`.
    """
    with engine_took("audio_decoding"):
        container = sniff_file(path)
        samples = decode(path, container, limits)
        check_whole(path, container, samples.size / RATE)
        return samples


def decode(path: Path, container: Container, limits: DecodeLimits) -> Samples:
    """The first audio stream of the file at `path`, shape (n,), float32 in -1..1, mono, `RATE` Hz.

    Raises:
        AudioTooLarge: over `max_bytes`.
        AudioTooLong: over `max_audio_s`; decoding stops there, however long the file is.
        AudioTooCostly: it used up memory or CPU time, or changes its form all the time.
        AudioDamaged: undecodable, without audio, or it crashed the decoder.
        UnsupportedAudio: an accepted container around a codec that is not.
        EngineUnavailable: the child could not be run, or this machine was too slow for it.
    """
    size = path.stat().st_size
    if size > limits.max_bytes:
        raise AudioTooLarge(f"The recording has {size} bytes; at most {limits.max_bytes} are taken.")
    request = f"{DEMUXERS[container]} {limits.max_audio_s} {limits.memory_bytes} {limits.whole_cpu_s}"
    room = int(limits.max_audio_s * RATE) * 4
    with path.open("rb") as recording:
        ended = audio_parent.run(recording, request, room=room, limit_s=limits.child_s)
    if ended.late:
        raise EngineUnavailable(f"Decoding took longer than {limits.child_s:.0f} s.")
    if ended.endless:
        raise _too_long(limits)
    if ended.status:
        raise _verdict(ended.status, limits)
    samples: Samples = np.frombuffer(ended.raw, dtype=np.float32)
    if not samples.size:
        raise AudioDamaged("There is no audio in it.")
    # Float recordings can hold anything, and one NaN silences the whole spectrogram.
    return np.clip(np.nan_to_num(samples, posinf=0.0, neginf=0.0), -1.0, 1.0)


def _too_long(limits: DecodeLimits) -> AudioTooLong:
    return AudioTooLong(f"The recording is longer than {limits.max_audio_s:.0f} s.")


_REFUSED: dict[int, tuple[type[AudioRefused], str]] = {
    audio_child.UNDECODABLE: (AudioDamaged, "The recording can't be decoded."),
    audio_child.NO_AUDIO: (AudioDamaged, "There is no audio in it."),
    audio_child.OTHER_CODEC: (UnsupportedAudio, "The container holds a codec that is not accepted."),
    audio_child.OUT_OF_MEMORY: (AudioTooCostly, "Decoding it took more memory than speech ever needs."),
    audio_child.TOO_MANY_FORMS: (AudioTooCostly, "It changes its sample rate or channels all the time."),
    -signal.SIGXCPU: (AudioTooCostly, "Decoding it took more time than any recording of speech needs."),
}


def _verdict(status: int, limits: DecodeLimits) -> SaycartError:
    """What an exit status of the child means. A signal other than a kill is the input's doing."""
    if status == audio_child.TOO_LONG:
        return _too_long(limits)
    if status in _REFUSED:
        kind, text = _REFUSED[status]
        return kind(text)
    if status < 0 and status != -signal.SIGKILL:  # killed: by the system, short of memory, not by the file
        return AudioDamaged("The recording broke the decoder.")
    return EngineUnavailable(f"The decoding process ended with status {status}.")
