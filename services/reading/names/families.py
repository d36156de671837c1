"""General names beside special ones: "an americano coffee" is one drink, and "cheddar cheese" one cheese,
though there is plain coffee and cheese too."""

from __future__ import annotations

from schemas.menu import Menu
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance, folded, span
from services.reading.language.language import Language, language_of

Words = tuple[str, ...]


def in_one_breath(tokens: Utterance, one: Span, other: Span) -> bool:
    """Whether one name follows on another with nothing between, not even a pause."""
    end = span(tokens, one)[1]
    return end == span(tokens, other)[0] and not tokens[end - 1].after


def general(tokens: Utterance, one: Span, special: Span, menu: Menu) -> bool | None:
    """Whether a name only says the sort of the special thing beside it: surely, where it is that of the
    category or group; perhaps, where it closes names of the same category or is a word that closes names
    everywhere; None where it does not."""
    if one.kind != special.kind or not one.strong or {*one.ids} & {*special.ids}:
        return None
    words = _words(tokens, one)
    if one.kind == "option":
        groups = {_folded(group.name, menu) for group in menu.option_groups if group.id in special.groups}
        closes = bool({*one.groups} & {*special.groups}) and _is_sort(words, tokens.language)
        return True if words in groups else False if closes else None
    kin = {item.category for item in menu.items if item.sku in special.ids}
    if words in {_folded(category, menu) for category in kin}:
        return True
    return False if _closes_names(words, kin, menu) else None


def _closes_names(words: Words, kin: set[str], menu: Menu) -> bool:
    """Whether longer names of items of some categories end in these words."""
    names = (name for item in menu.items if item.category in kin for name in (item.name, *item.aliases))
    known = (_folded(name, menu) for name in names)
    return any(len(name) > len(words) and name[-len(words) :] == words for name in known)


def _is_sort(words: Words, said: Language) -> bool:
    return len(words) == 1 and words[0] in said.choice_sorts


def may_say_sort(tokens: Utterance, one: Span, special: Span, mentions: list[Span]) -> bool:
    """Whether two options may be one: "feta cheese" alone, and no list, which goes on
    or has an "and", nor before an item."""
    both = one.kind == special.kind == "option" and {*one.groups} & {*special.groups}
    first, end = span(tokens, special)[0], span(tokens, one)[1]
    if not both or len(_words(tokens, one)) > 1:
        return False
    places = [(span(tokens, m), m.kind) for m in mentions]
    listed = not tokens[first - 1].after and any(i[1] == first and kind == "option" for i, kind in places)
    goes_on = end < len(tokens) and not tokens[end - 1].after
    if listed or not goes_on:
        return not listed
    word, said = tokens[end].folded, tokens.language
    joined = word in said.conjunctions or word in said.alternatives
    return not joined and not any(i[0] == end for i, _ in places)


def _words(tokens: Utterance, mention: Span) -> Words:
    return tuple(token.folded for token in tokens[slice(*span(tokens, mention))])


def _folded(name: str, menu: Menu) -> Words:
    return folded(name, language_of(menu))
