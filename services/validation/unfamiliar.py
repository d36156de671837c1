"""Words that neither the menu nor the usual talk of ordering explains.

A list of words about allergies is never complete: "so my lips went numb" has none of them. But customers
order in few words, so words that hardly any order has may say something that a cart can't: the customer is
told that we didn't understand them.
"""

from __future__ import annotations

from collections.abc import Iterable
from functools import cache
from pathlib import Path

from schemas.cart import MAX_HEARD_CHARS
from schemas.writable import whole_words
from services.retrieval.words import words

ORDERING_WORDS = Path(__file__).with_name("ordering_words.txt")
"""Word stems of orders on at least two menus; `services.learning.training.vocabulary` writes it."""
MANY = 2
"""Unfamiliar words that make a cart doubtful: 11 of the 868 orders of the tune set have as many."""
CONTEXT_CHARS = 24


@cache
def _ordering_words() -> frozenset[str]:
    return frozenset(ORDERING_WORDS.read_text(encoding="utf-8").split())


def unfamiliar(unused: Iterable[str]) -> tuple[str, ...]:
    """Return those of the words that customers hardly ever use when they order, in their order."""
    known = _ordering_words()
    found = (word for text in unused for word in words(text))
    return tuple(word.folded for word in found if word.stem not in known and not word.stem.isdigit())


def with_context(text: str, strange: Iterable[str]) -> str:
    """Return the piece of `text` from a few words before the first of `strange` to the last of them."""
    wanted = set(strange)
    places = [(word.start, word.end) for word in words(text) if word.folded in wanted]
    if not places:
        return ""
    start = max(0, places[0][0] - CONTEXT_CHARS)
    begin = start if start == 0 else text.find(" ", start) + 1
    return whole_words(text[begin : places[-1][1]], MAX_HEARD_CHARS)
