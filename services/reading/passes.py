"""The story of understanding: what is done to the words of an order, in this order.

Each pass takes the chart of the words and the lexicon of the menu, and returns the chart with more on it.
Makers add spans that compete; `resolve`, `strike_out` and, last, `choose_senses` tell which of them stand.
Each docstring says what a pass is for; `saycart explain` shows what it came to.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.names.finding.called_by_choice import called_by_choice
from services.reading.names.finding.guesses import guess_names
from services.reading.names.finding.implied import implied_items
from services.reading.names.finding.kinds import kinds_of_things
from services.reading.names.finding.parts import said_in_part
from services.reading.names.finding.short_names import said_short
from services.reading.names.finding.sounding_alike import said_alike
from services.reading.names.finding.whole_names import said_whole
from services.reading.names.lexicon import Lexicon
from services.reading.names.lexicons import lexicon
from services.reading.names.resolving import join_alike, refute, resolve
from services.reading.names.senses import choose_senses, keep_offered
from services.reading.values.numbers import count_numbers, take_as_pieces
from services.reading.whole.revisions import strike_out

Pass = Callable[[Chart, Lexicon], Chart]

PASSES: tuple[Pass, ...] = (
    # What may each of the words name?
    said_whole,
    said_short,
    said_alike,
    # Of names that overlap, which are meant? What was said beside them, in other words than a name's?
    refute,
    kinds_of_things,
    resolve,
    said_in_part,
    guess_names,
    join_alike,
    # What do names tell of that was not named?
    called_by_choice,
    implied_items,
    keep_offered,
    # What does the customer take back, and what do the words that are left mean beside each other?
    strike_out,
    choose_senses,
    # How many?
    count_numbers,
    take_as_pieces,
)


def steps(text: str, menu: Menu) -> Iterator[tuple[Pass, Chart]]:
    """Each pass with the chart after it, of a clean transcript over a menu."""
    names = lexicon(menu)
    chart = Chart.of(menu, names.heard(text))
    for each in PASSES:
        chart = each(chart, names)
        yield each, chart


def understood(text: str, menu: Menu) -> Chart:
    """The chart after all passes."""
    *_, (_, chart) = steps(text, menu)
    return chart
