"""Whether a word that may be a size or an option is the one, the other, or neither where it stands."""

from __future__ import annotations

from schemas.evidence import Mention
from schemas.menu import Item, Menu
from services.reading.chart.tokens import Utterance, span
from services.reading.language.english import AMOUNT_FILLERS, AMOUNTS, GROUPS, VESSELS


def of_another_kind(tokens: Utterance, mention: Mention, mentions: list[Mention], menu: Menu) -> bool:
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


def _holds(tokens: Utterance, mention: Mention, mentions: list[Mention], menu: Menu) -> bool:
    """Whether a word only says what an item comes in, that has no such size: "a bottle of water"."""
    first, end = span(tokens, mention)
    of = [t.folded for t in tokens[end : end + 1]] == ["of"] and not tokens[end - 1].after
    if not of or tokens[first].folded not in VESSELS or end - first > 1:
        return False
    items = [m for m in mentions if m.kind == "item" and span(tokens, m)[0] == end + 1]
    return any(not any(_comes_with(item, mention) for item in menu.items if item.sku in m.ids) for m in items)


def _of_the_order(tokens: Utterance, end: int, mentions: list[Mention]) -> bool:
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


def _led_to(tokens: Utterance, mention: Mention, mentions: list[Mention]) -> tuple[int, Mention | None]:
    """Where the sizes and options that follow a mention end, and the item that they lead to."""
    at = span(tokens, mention)[1]
    ends = {span(tokens, m)[0]: span(tokens, m)[1] for m in mentions if m.kind != "item"}
    items = {span(tokens, m)[0]: m for m in mentions if m.kind == "item"}
    while at in ends and at not in items and not tokens[at - 1].after:
        at = ends[at]
    return at, items.get(at) if not tokens[at - 1].after else None


def _folded(tokens: Utterance, start: int, end: int) -> set[str]:
    return {token.folded for token in tokens[max(start, 0) : end]}
