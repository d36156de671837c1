"""Which names are worth showing: short, writable, no word of general use, at odds with nothing that the menu
has, and not understood already."""

from __future__ import annotations

from schemas.errors import InvalidMenu, TooMuchToRead
from schemas.evidence import Evidence
from schemas.menu import Menu
from schemas.naming import item_key, option_key, with_alias
from schemas.writable import writable
from services.reading.chart.tokens import folded
from services.reading.language.language import Language, language_of
from services.reading.order import read_order

MOST_WORDS, MOST_CHARS, LEAST_CHARS = 4, 40, 3


def worth_showing(menu: Menu, thing: str, words: str) -> bool:
    """Whether staff should be asked about these words for this thing, which the menu has."""
    if not LEAST_CHARS <= len(words) <= MOST_CHARS or writable(words) != words:
        return False
    language = language_of(menu)
    said = folded(words, language)
    if not 1 <= len(said) <= MOST_WORDS or all(word in _general(language) for word in said):
        return False
    # The reading first: it takes 3 ms of any menu, and a check of a whole large one a hundred times that.
    return not _known(menu, thing, words) and _takes(menu, thing, words)


def _general(language: Language) -> frozenset[str]:
    """Words that name nothing by themselves. Numbers are folded to digits."""
    numbers = {str(number) for number in language.numbers.values()}
    return (
        language.function_words
        | language.determiners
        | language.deictics
        | language.others
        | language.persons
        | language.qualifying
        | language.vessels
        | numbers
    )


def _takes(menu: Menu, thing: str, words: str) -> bool:
    """Whether an import would take it, and keep it: it clashes with nothing and repeats nothing."""
    try:
        _, dropped = Menu.read(with_alias(menu, thing, words).model_dump(mode="json", exclude_none=True))
    except InvalidMenu:
        return False
    return not dropped


def _known(menu: Menu, thing: str, words: str) -> bool:
    """Whether the words by themselves are read as this thing alone, or name another one or a choice of it:
    as an alias they would swallow that."""
    try:
        found = read_order(words, menu, 0)
    except TooMuchToRead:
        return True
    kind, _, rest = thing.partition("/")
    if any(m.strong and not m.guessed and not _is(m.kind, m.ids, m.groups, thing) for m in found.mentions):
        return True
    return _is_it(found, rest) if kind == "item" else _is_option(found, thing)


def _is_it(found: Evidence, sku: str) -> bool:
    return found.plain and found.items == {sku}


def _is_option(found: Evidence, thing: str) -> bool:
    named = [m for m in found.mentions if m.strong and _is(m.kind, m.ids, m.groups, thing)]
    return bool(named) and not found.unexplained


def _is(kind: str, ids: tuple[str, ...], groups: tuple[str, ...], thing: str) -> bool:
    if kind == "item":
        return thing in map(item_key, ids)
    return kind == "option" and thing in {option_key(group, one) for group in groups for one in ids}
