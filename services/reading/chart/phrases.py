"""Phrases that stand somewhere among the words of an order."""

from __future__ import annotations

from collections.abc import Iterable

from services.reading.chart.tokens import Utterance
from services.reading.effort import charge


def phrase_end(tokens: Utterance, at: int, phrases: Iterable[tuple[str, ...]]) -> int | None:
    """The end of the longest of `phrases` that stands at `at`."""
    charge()
    words = tuple(token.folded for token in tokens[at : at + 4])
    fits = [len(p) for p in phrases if words[: len(p)] == p]
    return at + max(fits) if fits else None
