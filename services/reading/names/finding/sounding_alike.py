"""Names that words spell or sound almost like."""

from __future__ import annotations

from services.reading.chart.chart import Chart
from services.reading.names.lexicon import Lexicon


def said_alike(chart: Chart, lexicon: Lexicon) -> Chart:
    """Names that some words are almost: "dark rose" is a dark roast."""
    return chart.competing(lexicon.ear.find(chart.words))
