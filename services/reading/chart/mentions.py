"""Names in an order, by their place, with each reading of them; and phrases that stand somewhere."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance, span
from services.reading.effort import charge


@dataclass(frozen=True, slots=True)
class Name:
    """Words at tokens [start, end) that name something, with each reading of them."""

    start: int
    end: int
    readings: tuple[Span, ...]

    def of(self, kind: str) -> Span | None:
        """Its reading as an item, option or size; None when it has none."""
        return next((m for m in self.readings if m.kind == kind), None)


def names_of(tokens: Utterance, mentions: Iterable[Span]) -> list[Name]:
    """Mentions by place; of two that overlap the one that names an item, or else the first."""
    places: dict[tuple[int, int], list[Span]] = {}
    for mention in mentions:
        places.setdefault(span(tokens, mention), []).append(mention)
    ordered = sorted(places.items(), key=lambda p: (not any(m.kind == "item" for m in p[1]), p[0]))
    kept: list[Name] = []
    for (start, end), readings in ordered:
        inside = [k for k in kept if start < k.end and k.start < end]
        # A size or option inside a name that is said in pieces ("iced large latte") stands for itself.
        if not any(k.start < end and start < k.end and not (k.start < start and end < k.end) for k in inside):
            kept.append(Name(start, end, tuple(readings)))
    return sorted(kept, key=lambda n: n.start)


def phrase_end(tokens: Utterance, at: int, phrases: Iterable[tuple[str, ...]]) -> int | None:
    """The end of the longest of `phrases` that stands at `at`."""
    charge()
    words = tuple(token.folded for token in tokens[at : at + 4])
    fits = [len(p) for p in phrases if words[: len(p)] == p]
    return at + max(fits) if fits else None
