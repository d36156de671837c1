"""A recogniser for each language: one that an adapter was trained for, and the plain one for all others."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.transcript import Transcript
from services.transcription.ports import Recording, Transcriber


class ByLanguage:
    """A `Transcriber` that hands each recording to the one for its language.

    Args:
        trained: recognisers by the first part of a language (`en`).
        plain: for any other language; loaded when the first of them comes.
    """

    def __init__(self, trained: Mapping[str, Transcriber], plain: Transcriber) -> None:
        self._trained, self._plain = trained, plain

    def load(self) -> None:
        for ears in self._trained.values():
            ears.load()

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
