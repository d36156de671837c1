"""Which of several readings of the same words holds: a size or an option, an item or a choice of the item
before."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.resolve import EXACT
from services.reading.chart.tokens import Utterance, span
from services.reading.effort import charge
from services.reading.language.english import AND
from services.reading.names.families import general, in_one_breath, may_say_sort
from services.reading.names.neighbours import (
    begins_part,
    beside,
    leading,
    lightly,
    may_stand_alone,
    measures,
    on_another,
    points_back,
    unmilked,
)
from services.reading.names.other_kinds import of_another_kind
from services.reading.values.numbers import number_value

# Between a choice and what it goes on.
_UPON = frozenset("on over in".split())


def senses(tokens: Utterance, mentions: list[Mention], menu: Menu) -> tuple[list[Mention], bool]:
    """Settle which of several readings of the same words hold, from left to right; True where one item may
    as well be an option of the item before it."""
    named = {sku for m in mentions if m.kind == "item" for sku in m.ids}
    groups_of = {item.sku: set(item.option_groups) for item in menu.items if item.sku in named}
    single = menu.choose_one
    strong_items = [m for m in mentions if m.kind == "item" and m.strong]
    # Each is held against each, here and in the rules that are asked.
    charge(len(mentions) ** 2)
    mentions = [m for m in mentions if not of_another_kind(tokens, m, mentions, menu)]
    mentions = [m for m in mentions if not measures(tokens, m, mentions)]
    kept: list[Mention] = []
    offered: set[str] = set()
    filled: set[str] = set()
    end, torn = 0, False
    at = 0  # where the words since the last name begin
    for mention in mentions:
        if begins_part(tokens, at, span(tokens, mention)[0]):
            filled = set()  # the next of several may have a side of its own
        at = at if mention.kind == "size" else span(tokens, mention)[1]
        twins = [m for m in mentions if m is not mention and (m.start, m.end) == (mention.start, mention.end)]
        if not twins and kept and in_one_breath(tokens, kept[-1], mention):
            torn = torn or may_say_sort(tokens, mention, kept[-1], mentions)
            if (surely := general(tokens, mention, kept[-1], menu)) is not None:
                torn = torn or not surely
                continue
            if mention.kind == "item" and (surely := general(tokens, kept[-1], mention, menu)) is not None:
                torn = torn or not surely
                kept.pop()
        if mention.kind == "item":
            as_option = {g for m in twins if m.kind == "option" for g in m.groups} & offered - filled
            if as_option:
                lead = leading(tokens, mentions, mention, end)
                counted, leads = lead.counted, lead.goes_on
                if not counted:
                    torn = torn or not leads or may_stand_alone(tokens, mention, as_option, menu)
                    continue
            if (choice := _chosen_as(tokens, mention, kept, offered - filled, groups_of)) is not None:
                torn = torn or not _needed(choice, kept, menu)
                kept[-1] = _joined(choice, mention)
                continue
            if not mention.strong and beside(tokens, mention, strong_items):
                continue
            if not mention.strong and (
                points_back(tokens, mention, mentions) or unmilked(tokens, span(tokens, mention)[0], mentions)
            ):
                continue
            if _holds_choice(tokens, mention, kept, offered, mentions):
                torn = True
                continue
            torn = torn or lightly(tokens, mention, mentions) or on_another(tokens, mention)
            offered = set().union(*(groups_of[sku] for sku in mention.ids))
            filled, end = set(), mention.end
        elif mention.kind == "option":
            items = [m for m in twins if m.kind == "item"]
            if items and (not set(mention.groups) & offered - filled or items[0] in kept):
                continue
            if items and leading(tokens, mentions, mention, end).counted:
                continue
            filled |= single.intersection(mention.groups)
        kept.append(mention)
    return kept, torn


def offered(mentions: list[Mention], menu: Menu) -> list[Mention]:
    """The mentions; an option without the readings that nothing named comes with, where it has others."""
    skus = {sku for m in mentions if m.kind == "item" for sku in m.ids}
    groups = {group for item in menu.items if item.sku in skus for group in item.option_groups}
    return [narrowed(m, groups) if m.kind == "option" else m for m in mentions]


def narrowed(mention: Mention, groups: set[str]) -> Mention:
    """An option's readings of these groups; all of them where none is of these."""
    pairs = [pair for pair in zip(mention.groups, mention.ids, strict=True) if pair[0] in groups]
    if len(pairs) in (0, len(mention.ids)):
        return mention
    return mention.model_copy(
        update={"groups": tuple(g for g, _ in pairs), "ids": tuple(i for _, i in pairs)}
    )


def _chosen_as(
    tokens: Utterance,
    mention: Mention,
    before: list[Mention],
    open_: set[str],
    groups_of: Mapping[str, set[str]],
) -> Mention | None:
    """The choice of the item before that an item's short name only says the sort of: "a cookie sundae with
    vanilla ice cream", where ice cream comes in cups; None where it is an item."""
    choice = before[-1] if before and mention.score < EXACT else None
    if choice is None or choice.kind != "option" or span(tokens, choice)[1] != span(tokens, mention)[0]:
        return None
    groups = {g for sku in mention.ids for g in groups_of[sku]} & open_ & {*choice.groups}
    first = span(tokens, choice)[0]
    if not groups or not first or tokens[first].start != choice.start or choice.end + 1 != mention.start:
        return None
    led = tokens[first - 1]
    listed = any(m.kind == "option" and set(m.groups) & groups for m in before[-2:-1])
    counted = led.folded in ("a", "an", "another") or number_value(led.folded) is not None
    return None if not led.after and (counted or (led.folded in AND and not listed)) else choice


def _holds_choice(
    tokens: Utterance, mention: Mention, before: list[Mention], open_: set[str], mentions: list[Mention]
) -> bool:
    """Whether an item that nobody ordered is only where a choice goes: "a special, gravy on the chips"."""
    at = span(tokens, mention)[0]
    led = mention.strong and at > 2 and tokens[at - 1].folded == "the" and tokens[at - 2].folded in _UPON
    choice = before[-1] if led and before else None
    if choice is None or choice.kind != "option" or span(tokens, choice)[1] != at - 2:
        return False
    said = mention.text.casefold()
    ordered = any(
        {*m.ids} & {*mention.ids} or m.text.casefold().endswith(said)  # "the burger" is a cheeseburger
        for m in mentions
        if m is not mention and m.kind == "item"
    )
    return not ordered and bool({*choice.groups} & open_) and not tokens[at - 3].after


def _joined(choice: Mention, sort: Mention) -> Mention:
    """A choice with the sort of thing that it is, as one name."""
    return choice.model_copy(update={"end": sort.end, "text": f"{choice.text} {sort.text}"})


def _needed(choice: Mention, before: list[Mention], menu: Menu) -> bool:
    """Whether the item before has to have a choice of this kind, and none was said yet."""
    item = next((m for m in reversed(before) if m.kind == "item"), None)
    after = [m for m in before if item is not None and m.kind == "option" and m.start >= item.end]
    required = {group.id for group in menu.option_groups if group.required} & set(choice.groups)
    return bool(required) and not any(set(m.groups) & required for m in after if m is not choice)
