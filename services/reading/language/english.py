"""Goes: what is left to be reached through `Language`."""

from __future__ import annotations

from services.reading.language.language import language

_EN = language("en")
NUMBERS = _EN.numbers
HOMOPHONES = _EN.homophones
WANTING = _EN.wanting
AMOUNTS = _EN.amounts
SAME_AS = _EN.same_as
REFUSING_ALL = _EN.refusing_all
AMOUNT_FILLERS = _EN.amount_fillers
MEASURES = _EN.measures
BELONGING = _EN.belonging
FURTHER = _EN.further
AND = _EN.conjunctions
ONLY = _EN.only
NO_CHOICE = _EN.no_choice
NAMING = _EN.naming
OTHERS = _EN.others
UNWISHED = _EN.unwished
HAVING = _EN.having
VESSELS = _EN.vessels
NICKNAMES = _EN.nicknames
COFFEES = _EN.coffees
ARTICLES = _EN.articles
GROUPS = _EN.groups
PLAIN = _EN.plain
PIECES = _EN.pieces
JOINTS = _EN.joints
HESITATIONS = _EN.hesitations
PERSONS = _EN.persons
LIKING = _EN.liking
FILLERS = _EN.fillers


def phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """Phrases with commas between, each as its words."""
    return tuple(tuple(phrase.split()) for phrase in text.split(","))
