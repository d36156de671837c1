"""Who hears a recording, by the language of its menu."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from services.transcription.by_language import ByLanguage
from services.transcription.ports import Recording


class Ears:
    """Notes what it was asked, and gives its own name."""

    def __init__(self, name: str) -> None:
        self.name, self.asked = name, list[tuple[Any, ...]]()

    def load(self) -> None:
        self.asked.append(("load",))

    def __getattr__(self, method: str) -> Any:
        def answer(*args: Any) -> str:
            self.asked.append((method, *args))
            return self.name

        return answer


def decode(file: Path) -> Any:
    raise AssertionError(file)


RECORDING = Recording(Path("a.wav"), decode)


@pytest.mark.parametrize("method", ["transcribe", "transcribe_fitted", "transcribe_denoised", "quiet_words"])
@pytest.mark.parametrize(
    ("language", "name"),
    [("en", "trained"), ("en-GB", "trained"), ("EN", "trained"), ("es", "plain"), ("eng", "plain")],
)
def test_a_language_has_its_own(method: str, language: str, name: str) -> None:
    trained, plain = Ears("trained"), Ears("plain")
    ears = ByLanguage({"en": trained}, plain)
    assert getattr(ears, method)(RECORDING, language) == name
    assert trained.asked + plain.asked == [(method, RECORDING, language)]


def test_the_plain_one_is_loaded_when_it_is_needed() -> None:
    trained, plain = Ears("trained"), Ears("plain")
    ByLanguage({"en": trained}, plain).load()
    assert trained.asked == [("load",)]
    assert plain.asked == []
