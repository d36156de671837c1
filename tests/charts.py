"""What stands in a chart before the names of an order are looked at beside each other."""

from __future__ import annotations

from services.reading.chart.chart import Chart
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance
from services.reading.names.lexicon import Lexicon
from services.reading.names.resolving import join_alike
from services.reading.passes import PASSES
from tests.stand_ins import CAFE

NAMING = PASSES[: PASSES.index(join_alike) + 1]


def names_in(words: Utterance, lexicon: Lexicon) -> list[Span]:
    """The names of a lexicon that stand in some words. These passes ask no menu."""
    chart = Chart.of(CAFE, words)
    for each in NAMING:
        chart = each(chart, lexicon)
    return list(chart.standing)
