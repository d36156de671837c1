"""Items that are only said through their choices: "two everything bagels", where a bagel is the item and
everything a choice of it."""

from __future__ import annotations

from dataclasses import replace

from schemas.menu import Menu
from services.reading.chart.chart import Chart
from services.reading.chart.span import SHORT, Span
from services.reading.chart.tokens import Utterance, span
from services.reading.names.finding.plain_items import Named, items_of, plain_items
from services.reading.names.lexicon import Lexicon
from services.reading.names.senses import narrowed


def implied_items(chart: Chart, lexicon: Lexicon) -> Chart:
    """Items that only a choice or size of theirs tells of: "two everything bagels", "a large with ham"."""
    tokens, menu, named = chart.words, chart.menu, lexicon.items
    kept: list[Span] = []
    new: list[Span] = []
    for mention in chart.standing:
        parted = _parted(tokens, mention, kept, menu, named) if mention.kind == "option" else None
        kept += parted or [mention]
        new += parted or []
    plain = list(plain_items(tokens, kept, menu, named, lexicon.of_sort))
    return chart.standing_so(sorted([*kept, *plain], key=lambda m: (m.start, m.end)), [*new, *plain])


def _parted(
    tokens: Utterance, mention: Span, before: list[Span], menu: Menu, named: Named
) -> list[Span] | None:
    """A choice whose name ends in that of the item it is of, as both; None where an item before takes it."""
    first, end = span(tokens, mention)
    last = tokens[end - 1]
    skus = {sku for name, sku in named(last.folded) if name == (last.folded,)}
    item = menu.item(skus.pop()) if len(skus) == 1 and end - first > 1 else None
    if item is None:
        return None
    groups = {*mention.groups}
    if not groups & {*item.option_groups} or not _opens(tokens, first, groups, before, menu):
        return None
    cut = tokens[end - 2].end
    choice = narrowed(mention, {*item.option_groups})
    return [
        replace(
            choice, core=choice.core[:-1], end=cut, text=mention.text[: cut - mention.start], on=(mention,)
        ),
        replace(
            mention,
            kind="item",
            ids=(item.sku,),
            groups=(),
            core=mention.core[-1:],
            start=last.start,
            text=mention.text[last.start - mention.start :],
            score=SHORT,
            rule="implied",
            on=(mention,),
        ),
    ]


def _opens(tokens: Utterance, at: int, groups: set[str], before: list[Span], menu: Menu) -> bool:
    """Whether a choice is a line of its own, and none of the item before it."""
    said, at = tokens.language, _past_qualifiers(tokens, at, before)
    counted = at == 0 or tokens[at - 1].folded in said.indefinite_articles or tokens[at - 1].folded.isdigit()
    start = at - 1 if counted and at else at
    items = [m for m in before if m.kind == "item"]
    if items and start and tokens[start - 1].folded in said.belonging and not tokens[start - 1].after:
        return False  # "a BLT on an everything bagel"
    return counted or not _is_taken(groups, items, before, menu)


def _past_qualifiers(tokens: Utterance, at: int, before: list[Span]) -> int:
    """Where the sizes and amounts begin that lead to the token at `at`."""
    sizes = {span(tokens, m)[1]: span(tokens, m)[0] for m in before if m.kind == "size"}
    while at in sizes or (
        at and tokens[at - 1].folded in tokens.language.amounts and not tokens[at - 1].after
    ):
        at = sizes.get(at, at - 1)
    return at


def _is_taken(groups: set[str], items: list[Span], before: list[Span], menu: Menu) -> bool:
    """Whether an item before takes a choice of one of the groups. "With bacon and white toast": the bacon may
    be a choice, and the toast of what that is a choice of."""
    choices = {(m.start, m.end) for m in before if m.kind == "option"}
    alone = next((i for i in reversed(range(len(items))) if (items[i].start, items[i].end) not in choices), 0)
    return any(groups & {*item.option_groups} for m in items[alone:] for item in items_of(m, menu))
