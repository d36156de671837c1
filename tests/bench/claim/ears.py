"""Recognisers whose hearings are kept with the time that they took.

All pipelines hear the same recordings, so each is heard once, with nothing else in hand, and its seconds are
put to each order in place of those that it took to look them up: with one order in flight nothing overlaps,
and the sum is what the whole would have taken. With several in flight that would be wrong, so there
`folder` is None and every order hears its recording for itself, beside the others.
"""

from __future__ import annotations

import hashlib
import threading
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

from pydantic import TypeAdapter

from schemas.transcript import Transcript
from services.engines.ports import Recording, Transcriber
from services.evaluation.kept import Kept


class Timed(NamedTuple):
    """A hearing and its seconds, the recording's decoding with it where it was the first."""

    transcript: Transcript | None
    seconds: float


_TIMED = TypeAdapter(Timed)


class Stopwatch(threading.local):
    """Of the order in a thread's hands: seconds that its hearings took when they were made, and seconds that
    it now spent on having them."""

    def __init__(self) -> None:
        self.heard = self.spent = 0.0

    def begin(self) -> None:
        self.heard = self.spent = 0.0


class TimedEars:
    """`Transcriber` around `ears`, called `name`; what it takes is told to `watch`."""

    def __init__(self, ears: Transcriber, name: str, folder: Path | None, watch: Stopwatch) -> None:
        self._ears, self._name, self._watch = ears, name, watch
        self._kept = Kept(folder) if folder else None

    def load(self) -> None:
        """See `Transcriber.load`."""
        self._ears.load()

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        """See `Transcriber.transcribe`."""
        asked = ["first", _digest(recording), language]
        return self._heard(self._timed(asked, lambda: self._ears.transcribe(recording, language)))

    def transcribe_fitted(self, recording: Recording, language: str) -> None:
        """None: the old pipeline and ours are held against each other on the same hearing."""

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        """See `Transcriber.transcribe_denoised`."""
        asked = ["denoised", _digest(recording), language]
        return self._timed(asked, lambda: self._ears.transcribe_denoised(recording, language))

    def quiet_words(self, recording: Recording, language: str) -> str:
        """None, likewise."""
        return ""

    def hear_again(self, recording: Recording, first: Transcript, hints: Sequence[str]) -> Transcript:
        """See `Transcriber.hear_again`."""
        asked = ["again", _digest(recording), first.model_dump(mode="json"), list(hints)]
        return self._heard(self._timed(asked, lambda: self._ears.hear_again(recording, first, hints)))

    @staticmethod
    def _heard(transcript: Transcript | None) -> Transcript:
        assert transcript is not None, "only a hearing of what is not noisy may be none"
        return transcript

    def _timed(self, asked: Sequence[object], hear: Callable[[], Transcript | None]) -> Transcript | None:
        def make() -> Timed:
            began = time.perf_counter()
            transcript = hear()
            return Timed(transcript, time.perf_counter() - began)

        began = time.perf_counter()
        found = self._kept.answer("timed", [self._name, *asked], _TIMED, make) if self._kept else make()
        self._watch.spent += time.perf_counter() - began
        self._watch.heard += found.seconds
        return found.transcript


def _digest(recording: Recording) -> str:
    return hashlib.sha256(recording.file.read_bytes()).hexdigest()
