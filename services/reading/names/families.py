"""General names beside special ones: "an americano coffee" is one drink, and "cheddar cheese" one cheese,
though there is plain coffee and cheese too."""

from __future__ import annotations

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.tokens import Utterance, folded, span
from services.reading.language.english import AND, SORTS
from services.reading.language.language import language_of

Words = tuple[str, ...]


def in_one_breath(tokens: Utterance, one: Mention, other: Mention) -> bool:
    """Whether one name follows on another with nothing between, not even a pause."""
    end = span(tokens, one)[1]
    return end == span(tokens, other)[0] and not tokens[end - 1].after


def general(tokens: Utterance, one: Mention, special: Mention, menu: Menu) -> bool | None:
    """Whether a name only says the sort of the special thing beside it: surely, where it is that of the
    category or group; perhaps, where it closes names of the same category or is a word that closes names
    everywhere; None where it does not."""
    if one.kind != special.kind or not one.strong or {*one.ids} & {*special.ids}:
        return None
    said = _said(tokens, one)
    kin = {item.category for item in menu.items if item.sku in special.ids}
    groups = {group.name for group in menu.option_groups if group.id in special.groups}
    if said in {_folded(name, menu) for name in (kin if one.kind == "item" else groups)}:
        return True
    if one.kind == "option":
        closes = bool({*one.groups} & {*special.groups}) and len(said) == 1 and said[0] in SORTS
    else:
        names = [
            _folded(name, menu) for i in menu.items if i.category in kin for name in (i.name, *i.aliases)
        ]
        closes = any(len(words) > len(said) and words[-len(said) :] == said for words in names)
    return False if closes else None


def may_say_sort(tokens: Utterance, one: Mention, special: Mention, mentions: list[Mention]) -> bool:
    """Whether two options may be one: "feta cheese" alone, and no list, which goes on
    or has an "and", nor before an item."""
    both = one.kind == special.kind == "option" and {*one.groups} & {*special.groups}
    first, end = span(tokens, special)[0], span(tokens, one)[1]
    if not both or len(_said(tokens, one)) > 1:
        return False
    places = [(span(tokens, m), m.kind) for m in mentions]
    listed = not tokens[first - 1].after and any(i[1] == first and kind == "option" for i, kind in places)
    goes_on = end < len(tokens) and not tokens[end - 1].after
    follows = goes_on and (tokens[end].folded in AND | {"or"} or any(i[0] == end for i, _ in places))
    return not listed and not follows


def _said(tokens: Utterance, mention: Mention) -> Words:
    return tuple(token.folded for token in tokens[slice(*span(tokens, mention))])


def _folded(name: str, menu: Menu) -> Words:
    return folded(name, language_of(menu))
