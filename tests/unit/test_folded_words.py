"""The word sets of the language are written as the words of an order are looked up."""

from __future__ import annotations

import pytest

from services.reading.chart.tokens import fold
from services.reading.language import english, talk, turns


@pytest.mark.parametrize(
    "name",
    [
        "AMOUNTS",
        "ASKING",
        "EACH",
        "HAVING",
        "JOINTS",
        "ONLY",
        "REFUSING",
        "REFUSING_ALL",
        "THEIRS",
        "UNWISHED",
    ],
)
def test_words_that_are_looked_for_are_written_folded(name: str) -> None:
    """ "Heaps" is looked for as "heap": written otherwise it is known, and never understood."""
    words = set(next(getattr(module, name) for module in (english, turns, talk) if hasattr(module, name)))
    assert {fold(word) for word in words} == words
