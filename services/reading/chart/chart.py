"""The chart of one order: its words, every span that competes for them, and which of these stand."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

from schemas.menu import Menu
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance


@dataclass(frozen=True, slots=True)
class Chart:
    """What is known of the words of one order; a pass takes one, and returns another.

    `words` are all that were said, `left` those that were not taken back. `spans` compete, and `standing`
    hold so far; a span that is refuted leaves both. `named` are the spans that stood before anything was
    struck out, and `unsettled` those that stood before one sense of each was chosen. `numbers` count
    something. Where it is `corrected` something was taken back in a way that no rule reads; where it is
    `torn` an item may as well be a choice of the one before it.
    """

    menu: Menu
    words: Utterance
    left: Utterance
    spans: tuple[Span, ...] = ()
    standing: tuple[Span, ...] = ()
    named: tuple[Span, ...] = ()
    unsettled: tuple[Span, ...] = ()
    numbers: tuple[Number, ...] = ()
    corrected: bool = False
    torn: bool = False

    @classmethod
    def of(cls, menu: Menu, words: Utterance) -> Chart:
        """The chart of words in which nothing was looked for yet."""
        return cls(menu, words, words)

    def competing(self, found: Iterable[Span]) -> Chart:
        """With more spans, of which none stands yet."""
        return replace(self, spans=(*self.spans, *found))

    def standing_so(self, standing: Iterable[Span], found: Iterable[Span] = ()) -> Chart:
        """With these spans standing, of which some were only `found` now."""
        return replace(self, standing=tuple(standing), spans=(*self.spans, *found))
