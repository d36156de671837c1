"""Which of several readings of the same words holds: a size or an option, an item or a choice of the item
before."""

from __future__ import annotations

from collections.abc import Mapping

from schemas.evidence import Mention
from schemas.menu import Item, Menu
from services.pipeline.english import AMOUNT_FILLERS, AMOUNTS, AND, GROUPS, VESSELS
from services.pipeline.neighbours import (
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
from services.pipeline.quantifiers import number_value
from services.pipeline.settling import EXACT
from services.pipeline.words import Token, span

# Between a choice and what it goes on.
_UPON = frozenset("on over in".split())


def senses(tokens: list[Token], mentions: list[Mention], menu: Menu) -> tuple[list[Mention], bool]:
    """Settle which of several readings of the same words hold, from left to right; True where one item may
    as well be an option of the item before it."""
    named = {sku for m in mentions if m.kind == "item" for sku in m.ids}
    groups_of = {item.sku: set(item.option_groups) for item in menu.items if item.sku in named}
    single = menu.choose_one
    strong_items = [m for m in mentions if m.kind == "item" and m.strong]
    mentions = [m for m in mentions if not _of_another_kind(tokens, m, mentions, menu)]
    mentions = [m for m in mentions if not measures(tokens, m, mentions)]
    kept: list[Mention] = []
    offered: set[str] = set()
    filled: set[str] = set()
    end, torn = 0, False
    at = 0  # where the words since the last name begin
    for mention in mentions:
        if begins_part(tokens[at : span(tokens, mention)[0]]):
            filled = set()  # the next of several may have a side of its own
        at = at if mention.kind == "size" else span(tokens, mention)[1]
        twins = [m for m in mentions if m is not mention and (m.start, m.end) == (mention.start, mention.end)]
        if mention.kind == "item":
            as_option = {g for m in twins if m.kind == "option" for g in m.groups} & offered - filled
            if as_option:
                counted, leads = leading(tokens, mentions, mention, end)
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
            if items and leading(tokens, mentions, mention, end)[0]:
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


def _of_another_kind(tokens: list[Token], mention: Mention, mentions: list[Mention], menu: Menu) -> bool:
    """Whether a word that is a size and an option is the other one here: in "a medium horchata" it is no
    medium salsa, and "a burrito with medium" has no size. "A little cheese" is an amount."""
    first, end = span(tokens, mention)
    if mention.kind == "size" and (
        _of_the_order(tokens, end, mentions) or _holds(tokens, mention, mentions, menu)
    ):
        return True
    if mention.kind == "option" and not tokens[end - 1].after and GROUPS & _folded(tokens, end, end + 1):
        return True  # "the whole crew"
    if (
        mention.kind == "size"
        and tokens[first].folded == "dozen"
        and "half" in _folded(tokens, first - 2, first)
    ):
        return True  # half a dozen is no dozen
    if mention.kind == "size" and [t.folded for t in tokens[first : end + 2]] == ["half", "a", "dozen"]:
        return True  # nor is it a half
    if mention.kind == "size" and mention.text.casefold() in AMOUNTS:
        at, led = _led_to(tokens, mention, mentions)
        return led is None and at > span(tokens, mention)[1]
    if mention.kind == "option" and mention.text.casefold() in AMOUNTS:
        at = span(tokens, mention)[1]  # "easy on the gravy", where eggs come easy
        while at < len(tokens) and tokens[at].folded in AMOUNT_FILLERS and not tokens[at - 1].after:
            at += 1
        after = {span(tokens, m)[0] for m in mentions if m.kind == "option"}
        return at in after and not tokens[at - 1].after
    alike = [m for m in mentions if (m.start, m.end) == (mention.start, mention.end)]
    if {m.kind for m in alike} != {"size", "option"}:
        return False
    _, led = _led_to(tokens, mention, mentions)
    before = (m for m in reversed(mentions) if m.kind == "item" and m.end <= mention.start)
    about = led or next(before, None)
    meant = [item for item in menu.items if about is not None and item.sku in about.ids]
    fits = {m.kind for m in alike if any(_comes_with(item, m) for item in meant)}
    if led is not None and "size" in fits:
        return mention.kind == "option"  # "medium nachos", though there is a medium salsa
    return len(fits) == 1 and mention.kind not in fits


def _holds(tokens: list[Token], mention: Mention, mentions: list[Mention], menu: Menu) -> bool:
    """Whether a word only says what an item comes in, that has no such size: "a bottle of water"."""
    first, end = span(tokens, mention)
    of = [t.folded for t in tokens[end : end + 1]] == ["of"] and not tokens[end - 1].after
    if not of or tokens[first].folded not in VESSELS or end - first > 1:
        return False
    items = [m for m in mentions if m.kind == "item" and span(tokens, m)[0] == end + 1]
    return any(not any(_comes_with(item, mention) for item in menu.items if item.sku in m.ids) for m in items)


def _chosen_as(
    tokens: list[Token],
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
    tokens: list[Token], mention: Mention, before: list[Mention], open_: set[str], mentions: list[Mention]
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


def _folded(tokens: list[Token], start: int, end: int) -> set[str]:
    return {token.folded for token in tokens[max(start, 0) : end]}


def _of_the_order(tokens: list[Token], end: int, mentions: list[Mention]) -> bool:
    """Whether it is the order or who comes that is big: "big office order: ...", "a large family today"."""
    for i in range(end, min(end + 2, len(tokens))):
        if any(m.start <= tokens[i].start < m.end for m in mentions):
            break  # "six party wings"
        if tokens[i].folded in GROUPS:
            last = (
                i + 1 == len(tokens)
                or bool(tokens[i].after)
                or tokens[i + 1].folded in ("for", "today", "here")
            )
            return last or tokens[i].folded != "order"
        if tokens[i].after:
            break
    return False


def _comes_with(item: Item, mention: Mention) -> bool:
    offered = item.size_ids if mention.kind == "size" else item.option_groups
    return bool({*(mention.ids if mention.kind == "size" else mention.groups)} & {*offered})


def _led_to(tokens: list[Token], mention: Mention, mentions: list[Mention]) -> tuple[int, Mention | None]:
    """Where the sizes and options that follow a mention end, and the item that they lead to."""
    at = span(tokens, mention)[1]
    ends = {span(tokens, m)[0]: span(tokens, m)[1] for m in mentions if m.kind != "item"}
    items = {span(tokens, m)[0]: m for m in mentions if m.kind == "item"}
    while at in ends and at not in items and not tokens[at - 1].after:
        at = ends[at]
    return at, items.get(at) if not tokens[at - 1].after else None
