"""A size that was only said as part of an option's name was not said: "medium roast" is no size.

The model sometimes takes such a word twice. On the tuned menus no right cart does; so the size goes, and the
customer is asked about the cart. Options are left alone: "extra cheese" may be an option, or much of another.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Line
from services.retrieval.names import MenuNames, Stems
from services.retrieval.retrieval import Match, Retrieval
from services.retrieval.words import words


def without_inner_sizes(
    lines: Iterable[Line], transcript: str, names: MenuNames, found: Retrieval
) -> list[Line]:
    """The lines of a cart without sizes that were only said as part of an option's name."""
    inner = _inner_sizes(transcript, names, found)
    return [{**line, "size": None} if line.get("size") in inner else line for line in lines]


def _inner_sizes(transcript: str, names: MenuNames, found: Retrieval) -> set[str]:
    """Ids of the sizes whose names stand in options that were said whole, and nowhere else."""
    said = {name.id for mention in found.mentions for name in mention.names if name.kind == "size"}
    inner: set[str] = set()
    for mention in found.mentions:
        if mention.match is Match.WHOLE and all(name.kind == "option" for name in mention.names):
            key = tuple(word.stem for word in words(transcript[mention.start : mention.end]))
            called = (name for part in _parts(key) for name in names.whole.get(part, ()))
            inner |= {name.id for name in called if name.kind == "size"}
    return inner - said


def _parts(key: Stems) -> Iterable[Stems]:
    """Every run of words that is shorter than the whole."""
    count = len(key)
    return (key[a:b] for a in range(count) for b in range(a + 1, count + 1) if b - a < count)
