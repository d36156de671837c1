"""Whether a word that may be a size or an option is the one, the other, or neither where it stands."""

from __future__ import annotations

from schemas.menu import Item, Menu
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance, span


def of_another_kind(tokens: Utterance, mention: Span, mentions: list[Span], menu: Menu) -> bool:
    """Whether a word that is a size and an option is the other one here: in "a medium horchata" it is no
    medium salsa, and "a burrito with medium" has no size. "A little cheese" is an amount."""
    if mention.kind == "size" and _is_no_size(tokens, mention, mentions, menu):
        return True
    if mention.kind == "option" and _tells_of_group(tokens, mention):
        return True
    if mention.text.casefold() in tokens.language.amounts and mention.kind == "size":
        at, item = _led_to(tokens, mention, mentions)
        return item is None and at > span(tokens, mention)[1]
    if mention.text.casefold() in tokens.language.amounts and mention.kind == "option":
        return _is_amount_of_option(tokens, mention, mentions)
    alike = [m for m in mentions if (m.start, m.end) == (mention.start, mention.end)]
    both = {m.kind for m in alike} == {"size", "option"}
    return both and _other_one_fits(tokens, mention, alike, mentions, menu)


def _is_no_size(tokens: Utterance, mention: Span, mentions: list[Span], menu: Menu) -> bool:
    """Whether what is called as a size is big, or half, in another sense."""
    return (
        _is_of_the_order(tokens, span(tokens, mention)[1], mentions)
        or _holds(tokens, mention, mentions, menu)
        or _is_half_dozen(tokens, mention)
    )


def _tells_of_group(tokens: Utterance, mention: Span) -> bool:
    """ "The whole crew" wishes for no whole milk."""
    end = span(tokens, mention)[1]
    follows = end < len(tokens) and not tokens[end - 1].after
    return follows and tokens[end].folded in tokens.language.groups


def _is_half_dozen(tokens: Utterance, mention: Span) -> bool:
    """Half a dozen is no dozen, nor is it a half."""
    said, (first, end) = tokens.language, span(tokens, mention)
    if tokens[first].folded in said.multipliers:
        return any(token.folded in said.halves for token in tokens[max(first - 2, 0) : first])
    following = [token.folded for token in tokens[first : end + 2]]
    return (
        len(following) == 3
        and following[0] in said.halves
        and following[1] in said.indefinite_articles
        and following[2] in said.multipliers
    )


def _is_amount_of_option(tokens: Utterance, mention: Span, mentions: list[Span]) -> bool:
    """ "Easy on the gravy", where eggs come easy."""
    at = span(tokens, mention)[1]
    while at < len(tokens) and tokens[at].folded in tokens.language.amount_fillers:
        if tokens[at - 1].after:
            return False
        at += 1
    options = {span(tokens, m)[0] for m in mentions if m.kind == "option"}
    return at in options and not tokens[at - 1].after


def _other_one_fits(
    tokens: Utterance, mention: Span, alike: list[Span], mentions: list[Span], menu: Menu
) -> bool:
    """Whether the item that a word is said of comes with the other one that it may be."""
    _, item = _led_to(tokens, mention, mentions)
    before = (m for m in reversed(mentions) if m.kind == "item" and m.end <= mention.start)
    about = item or next(before, None)
    meant = [one for one in menu.items if about is not None and one.sku in about.ids]
    fits = {m.kind for m in alike if any(_comes_with(one, m) for one in meant)}
    if item is not None and "size" in fits:
        return mention.kind == "option"  # "medium nachos", though there is a medium salsa
    return len(fits) == 1 and mention.kind not in fits


def _holds(tokens: Utterance, mention: Span, mentions: list[Span], menu: Menu) -> bool:
    """Whether a word only says what an item comes in, that has no such size: "a bottle of water"."""
    said, (first, end) = tokens.language, span(tokens, mention)
    if end - first > 1 or tokens[first].folded not in said.vessels:
        return False
    if end == len(tokens) or tokens[end].folded not in said.partitive or tokens[end - 1].after:
        return False
    items = [m for m in mentions if m.kind == "item" and span(tokens, m)[0] == end + 1]
    return any(not any(_comes_with(item, mention) for item in menu.items if item.sku in m.ids) for m in items)


def _is_of_the_order(tokens: Utterance, end: int, mentions: list[Span]) -> bool:
    """Whether it is the order or who comes that is big: "big office order: ...", "a large family today"."""
    said = tokens.language
    for i in range(end, min(end + 2, len(tokens))):
        if any(m.start <= tokens[i].start < m.end for m in mentions):
            return False  # "six party wings"
        if tokens[i].folded in said.groups:
            last = i + 1 == len(tokens) or bool(tokens[i].after) or tokens[i + 1].folded in said.occasions
            return last or tokens[i].folded not in said.vessels  # "a large order of fries"
        if tokens[i].after:
            return False
    return False


def _comes_with(item: Item, mention: Span) -> bool:
    offered = item.size_ids if mention.kind == "size" else item.option_groups
    return bool({*(mention.ids if mention.kind == "size" else mention.groups)} & {*offered})


def _led_to(tokens: Utterance, mention: Span, mentions: list[Span]) -> tuple[int, Span | None]:
    """Where the sizes and options that follow a mention end, and the item that they lead to."""
    at = span(tokens, mention)[1]
    ends = {span(tokens, m)[0]: span(tokens, m)[1] for m in mentions if m.kind != "item"}
    items = {span(tokens, m)[0]: m for m in mentions if m.kind == "item"}
    while at in ends and at not in items and not tokens[at - 1].after:
        at = ends[at]
    return at, items.get(at) if not tokens[at - 1].after else None
