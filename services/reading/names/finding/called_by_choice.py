"""Items that are called by a choice in the place of its sort: "cod and chips", where there is fish and chips
and cod is a type of fish."""

from __future__ import annotations

from collections.abc import Iterator

from services.reading.chart.chart import Chart
from services.reading.chart.span import SHORT, Span, found
from services.reading.chart.tokens import Utterance, span
from services.reading.names.lexicon import Lexicon


def called_by_choice(chart: Chart, lexicon: Lexicon) -> Chart:
    """Items that choices stand in the names of: "cod and chips" is fish and chips with cod."""
    items = list(_items(chart.words, chart.standing, lexicon))
    kept = [m for m in chart.standing if not any(_inside(m, item) for item in items)]
    return chart.standing_so(sorted([*kept, *items], key=lambda m: (m.start, m.end)), items)


def _items(tokens: Utterance, standing: tuple[Span, ...], lexicon: Lexicon) -> Iterator[Span]:
    for choice in standing:
        if choice.kind != "option" or not choice.strong:
            continue
        end = span(tokens, choice)[1]
        for rest, sku in sorted(pair for group in choice.groups for pair in lexicon.of_sort(group).items()):
            last = end + len(rest)
            said = tuple(token.folded for token in tokens[end:last])
            if not rest or said != rest or any(token.after for token in tokens[end - 1 : last - 1]):
                continue
            core = tuple(range(end, last))
            yield found(tokens, core, ("item", "", sku), SHORT, "called_by_choice", on=[choice])


def _inside(mention: Span, item: Span) -> bool:
    return item.start <= mention.start and mention.end <= item.end
