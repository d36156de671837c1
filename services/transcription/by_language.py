"""A recognizer for each language: an adapted one, or the plain one for all other languages."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.transcript import Transcript
from services.transcription.ports import Recording, Transcriber


class ByLanguage:
    """A `Transcriber` that delegates to the one for the recording's language.

    Args:
        trained: recognizers by language code (`en`).
        plain: for any other language; loaded on first use.
    """

    def __init__(self, trained: Mapping[str, Transcriber], plain: Transcriber) -> None:
        self._trained, self._plain = trained, plain

    def load(self) -> None:
        for recognizer in self._trained.values():
            recognizer.load()

    def transcribe(self, recording: Recording, language: str) -> Transcript:
        return self._of(language).transcribe(recording, language)

    def transcribe_fitted(self, recording: Recording, language: str) -> Transcript | None:
        return self._of(language).transcribe_fitted(recording, language)

    def transcribe_denoised(self, recording: Recording, language: str) -> Transcript | None:
        return self._of(language).transcribe_denoised(recording, language)

    def quiet_words(self, recording: Recording, language: str) -> str:
        return self._of(language).quiet_words(recording, language)

    def _of(self, language: str) -> Transcriber:
        return self._trained.get(language.partition("-")[0].lower(), self._plain)
