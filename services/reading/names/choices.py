"""Items that are no line of an order where they stand: they say what sort of thing a choice is, or where it
goes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

from schemas.menu import Menu
from services.reading.chart.span import EXACT, Span
from services.reading.chart.tokens import Utterance, span
from services.reading.values.numbers import number_value


def chosen_as(
    tokens: Utterance,
    mention: Span,
    before: list[Span],
    open_: set[str],
    groups_of: Mapping[str, set[str]],
) -> Span | None:
    """The choice of the item before that an item's short name only says the sort of: "a cookie sundae with
    vanilla ice cream", where ice cream comes in cups; None where it is an item. `open_` are the groups that
    the item before may still have a choice of, `groups_of` those of each item."""
    choice = before[-1] if before and mention.score < EXACT else None
    if choice is None or choice.kind != "option" or not _follows(tokens, choice, mention):
        return None
    groups = {g for sku in mention.ids for g in groups_of[sku]} & open_ & {*choice.groups}
    first = span(tokens, choice)[0]
    if not groups or not first or _begins_line(tokens, first, groups, before):
        return None
    return choice


def _follows(tokens: Utterance, choice: Span, mention: Span) -> bool:
    """Whether a name follows right on a choice, with a single space between."""
    first, end = span(tokens, choice)
    adjoins = end == span(tokens, mention)[0] and choice.end + 1 == mention.start
    return adjoins and tokens[first].start == choice.start


def _begins_line(tokens: Utterance, first: int, groups: set[str], before: list[Span]) -> bool:
    """Whether an article, a number or an "and" leads to a choice at token `first`, and no list that goes on:
    "and a vanilla ice cream"."""
    led, said = tokens[first - 1], tokens.language
    if led.after:
        return False
    counted = led.folded in said.indefinite_articles or led.folded in said.one_more
    if counted or number_value(led.folded, said) is not None:
        return True
    listed = any(m.kind == "option" and set(m.groups) & groups for m in before[-2:-1])
    return led.folded in said.conjunctions and not listed


def holds_choice(
    tokens: Utterance, mention: Span, before: list[Span], open_: set[str], mentions: list[Span]
) -> bool:
    """Whether an item that nobody ordered is only where a choice goes: "a special, gravy on the chips"."""
    at = span(tokens, mention)[0]
    choice = before[-1] if mention.strong and before and _is_led_onto(tokens, at) else None
    if choice is None or choice.kind != "option" or span(tokens, choice)[1] != at - 2:
        return False
    fits = bool({*choice.groups} & open_) and not tokens[at - 3].after
    return fits and not _is_ordered(mention, mentions)


def _is_led_onto(tokens: Utterance, at: int) -> bool:
    """ "On the" before a name, with something before that."""
    said = tokens.language
    return at > 2 and tokens[at - 1].folded in said.definite_articles and tokens[at - 2].folded in said.above


def _is_ordered(mention: Span, mentions: list[Span]) -> bool:
    """Whether an item is named elsewhere; "the burger" is a cheeseburger."""
    called = mention.text.casefold()
    return any(
        {*m.ids} & {*mention.ids} or m.text.casefold().endswith(called)
        for m in mentions
        if m is not mention and m.kind == "item"
    )


def joined(choice: Span, sort: Span) -> Span:
    """A choice with the sort of thing that it is, as one name."""
    core, text = (*choice.core, *sort.core), f"{choice.text} {sort.text}"
    return replace(choice, core=core, end=sort.end, text=text, on=(choice, sort))


def needed(choice: Span, before: list[Span], menu: Menu) -> bool:
    """Whether the item before has to have a choice of this kind, and none was said yet."""
    item = next((m for m in reversed(before) if m.kind == "item"), None)
    after = [m for m in before if item is not None and m.kind == "option" and m.start >= item.end]
    required = {group.id for group in menu.option_groups if group.required} & set(choice.groups)
    return bool(required) and not any(set(m.groups) & required for m in after if m is not choice)
