"""The interface of speech recognizers. Imports no engine."""

from __future__ import annotations

import threading
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from schemas.errors import DecodeCancelled, RecordingLost
from schemas.transcript import Transcript

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


@dataclass(eq=False)
class Recording:
    """An order's recording: the file, and its samples, decoded once. `called_off` is set when the order is
    cancelled or belongs to another worker."""

    file: Path
    decode: Callable[[Path], npt.NDArray[np.float32]]
    called_off: threading.Event | None = None

    @property
    def samples(self) -> npt.NDArray[np.float32]:
        """Shape (n,), float32 in -1..1, mono, 16 kHz.

        Raises:
            AudioRefused: the recording is at fault; don't retry.
            RecordingLost: it is missing, or was deleted meanwhile.
            EngineUnavailable: the decoding child failed; retry.
            DecodeCancelled: as `check`.
        """
        self.check()
        return self._decoded

    def check(self) -> None:
        """Raise DecodeCancelled if the order was cancelled; called before each pass and window."""
        if self.called_off is not None and self.called_off.is_set():
            raise DecodeCancelled("The order was cancelled during transcription")

    @cached_property
    def _decoded(self) -> npt.NDArray[np.float32]:
        try:
            return self.decode(self.file)
        except FileNotFoundError as error:
            raise RecordingLost("The recording of this order can't be found") from error


class Transcriber(Protocol):
    """Transcribes recordings with one recognizer."""

    def load(self) -> None:
        """Load the model now rather than on the first call."""
        ...

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """Return words, times and a confidence; an empty text with confidence 0 if nothing was said.

        Raises:
            AudioRefused, RecordingLost, DecodeCancelled: as `Recording.samples`.
            EngineUnavailable: the decoding child or the model failed; retry.
        """
        ...

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """As `transcribe`, faster and slightly less reliable: with a context as long as the recording.

        It counts only if it leaves no doubt. None if it has no confidence table.

        Raises: as `transcribe`.
        """
        ...

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """As `transcribe`, with the noise reduced. None if there is hardly any noise, the recording is
        long, or there is no confidence table.

        Raises: as `transcribe`.
        """
        ...

    def quiet_words(self, recording: Recording, language: str) -> str:
        """Return words that the other passes take for silence, since they are too quiet.

        Raises: as `transcribe`.
        """
        ...
