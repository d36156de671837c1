"""Items that are called by a choice in the place of its sort: "cod and chips", where there is fish and chips
and cod is a type of fish."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from schemas.evidence import Mention
from services.reading.chart.resolve import SHORT
from services.reading.chart.tokens import Utterance, span

# By a group of options: what follows its sort in names of items that come with it, and whose names these are.
Sorted = Callable[[str], Mapping[tuple[str, ...], str]]


def with_sorts(text: str, tokens: Utterance, mentions: list[Mention], sort_of: Sorted) -> list[Mention]:
    """The mentions, in order, with the items that choices stand in the names of."""
    found: list[Mention] = []
    for choice in mentions:
        if choice.kind != "option" or not choice.strong:
            continue
        end = span(tokens, choice)[1]
        for rest, sku in sorted(pair for group in choice.groups for pair in sort_of(group).items()):
            last = end + len(rest)
            said = tuple(token.folded for token in tokens[end:last])
            if not rest or said != rest or any(token.after for token in tokens[end - 1 : last - 1]):
                continue
            found.append(_item(text, sku, tokens[end].start, tokens[last - 1].end))
    kept = [m for m in mentions if not any(_inside(m, item) for item in found)]
    return sorted([*kept, *found], key=lambda m: (m.start, m.end))


def _item(text: str, sku: str, start: int, end: int) -> Mention:
    return Mention(
        kind="item",
        ids=(sku,),
        groups=(),
        start=start,
        end=end,
        text=text[start:end],
        score=SHORT,
        strong=True,
    )


def _inside(mention: Mention, item: Mention) -> bool:
    return item.start <= mention.start and mention.end <= item.end
