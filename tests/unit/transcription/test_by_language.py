"""The recognizer for each language."""

from __future__ import annotations

from unittest.mock import Mock

import pytest

from services.transcription.by_language import ByLanguage


@pytest.mark.parametrize("method", ["transcribe", "transcribe_fitted", "transcribe_denoised", "quiet_words"])
@pytest.mark.parametrize(
    ("language", "is_trained"),
    [("en", True), ("en-GB", True), ("EN", True), ("es", False), ("eng", False)],
)
def test_each_language_has_its_recognizer(method: str, language: str, is_trained: bool) -> None:
    trained, plain, recording = Mock(), Mock(), Mock()
    ears = ByLanguage({"en": trained}, plain)
    asked, other = (trained, plain) if is_trained else (plain, trained)
    assert getattr(ears, method)(recording, language) is getattr(asked, method).return_value
    getattr(asked, method).assert_called_once_with(recording, language)
    assert other.mock_calls == []


def test_the_plain_recognizer_is_loaded_on_first_use() -> None:
    trained, plain = Mock(), Mock()
    ByLanguage({"en": trained}, plain).load()
    trained.load.assert_called_once_with()
    assert plain.mock_calls == []
