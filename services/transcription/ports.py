"""What the pipeline needs of a recogniser. Imports no engine."""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from schemas.errors import RecordingLost
from schemas.transcript import Transcript

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt


class Recording:
    """One order's recording: the file, and what `decode` makes of it, once, however often it is heard."""

    def __init__(self, file: Path, decode: Callable[[Path], npt.NDArray[np.float32]]) -> None:
        self.file = file
        self._decode = decode

    @cached_property
    def samples(self) -> npt.NDArray[np.float32]:
        """Shape (n,), float32 in -1..1, mono, 16 kHz.

        Raises:
            AudioRefused: the recording itself; never worth a retry.
            RecordingLost: it is not there, or was removed while it was read.
            EngineUnavailable: the decoding child failed; worth another try.
        """
        try:
            return self._decode(self.file)
        except FileNotFoundError as error:
            raise RecordingLost("The recording of this order can't be found") from error


class Transcriber(Protocol):
    """Hears a recording."""

    def load(self) -> None:
        """Load the model now; otherwise the first call does."""
        ...

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """Words, times and one confidence; an empty text with confidence 0 when nothing was said.

        Raises:
            AudioRefused, RecordingLost: as `Recording.samples`.
            EngineUnavailable: the decoding child or the model failed; worth another try.
        """
        ...

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        """As `transcribe`, in less time and a little less reliably: with a context as long as the recording.

        Its words count only where they leave no doubt. None where it was not measured how sure they are.

        Raises: as `transcribe`.
        """
        ...

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """As `transcribe`, of the recording with its noise turned down; None where there is hardly any, where
        the recording is long, or where it was not measured how sure its words are.

        Raises: as `transcribe`.
        """
        ...

    def quiet_words(self, recording: Recording, language: str) -> str:
        """Words that a voice says too quietly for the other hearings, which take them for silence; empty
        where there are none.

        Raises: as `transcribe`.
        """
        ...
