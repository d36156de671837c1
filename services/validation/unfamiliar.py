"""Words that neither the menu nor the usual talk of ordering explains.

`dietary.toml` can't know every way to speak of an allergy. But the vocabulary of orders is small, so words
that hardly any order has may mean something that a cart can't hold: the customer is told that we didn't
understand them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from schemas.cart import MAX_HEARD_CHARS
from schemas.writable import whole_words
from services.retrieval.names import MenuNames
from services.retrieval.words import english, words

ORDERING_WORDS = Path(__file__).with_name("ordering_words.txt")
"""Word stems of orders on at least two menus; `services.learning.training.vocabulary` writes it."""
MANY = 2
"""Unfamiliar words that make a cart doubtful: 11 of the 868 orders of the tune set have as many."""
MAX_PIECES = 3


@cache
def _ordering_words() -> frozenset[str]:
    return frozenset(ORDERING_WORDS.read_text(encoding="utf-8").split())


def unfamiliar(unused: Iterable[str], menu: MenuNames) -> tuple[str, ...]:
    """Return the words that customers hardly ever use when they order, and no name on the menu has."""
    known = _ordering_words()
    found = (word for text in unused for word in words(text))
    return tuple(
        word.folded
        for word in found
        if word.stem not in known and word.stem not in menu.containing and not word.stem.isdigit()
    )


def with_context(text: str, strange: Iterable[str]) -> str:
    """Return the pieces of `text` with the words `strange`, the small word before and those between."""
    wanted, small, pieces = set(strange), english().small_words, list[tuple[int, int]]()
    said = words(text)
    for at, word in enumerate(said):
        if word.folded not in wanted:
            continue
        begin = at
        while begin and said[begin - 1].folded in small:
            begin -= 1
        if pieces and begin <= pieces[-1][1]:
            pieces[-1] = (pieces[-1][0], at + 1)
        else:
            follows = begin < at and text[said[at - 1].end : word.start].isspace()
            pieces.append((at - follows, at + 1))
    spans = [text[said[begin].start : said[end - 1].end] for begin, end in pieces[-MAX_PIECES:]]
    return "” “".join(whole_words(span, MAX_HEARD_CHARS) for span in spans)
