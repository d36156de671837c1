"""Drop sizes that were only said as part of an option's name: "medium roast" is not a size.

The model sometimes uses such a word twice. No correct cart on the tuned menus does, so the size is removed
and the customer is asked about the cart. Options stay: "extra cheese" may be an option or an amount.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Line
from services.retrieval.names import MenuNames
from services.retrieval.retrieval import Match, Retrieval
from services.retrieval.words import windows, words


def without_inner_sizes(
    lines: Iterable[Line], transcript: str, names: MenuNames, found: Retrieval
) -> list[Line]:
    """Return the lines without sizes that were only said as part of an option's name."""
    inner = _inner_sizes(transcript, names, found)
    return [{**line, "size": None} if line.get("size") in inner else line for line in lines]


def _inner_sizes(transcript: str, names: MenuNames, found: Retrieval) -> set[str]:
    """Return the ids of sizes that are only mentioned inside options named in full."""
    said = {name.id for mention in found.mentions for name in mention.names if name.kind == "size"}
    inner: set[str] = set()
    for mention in found.mentions:
        if mention.match is Match.WHOLE and all(name.kind == "option" for name in mention.names):
            inner |= _sizes_in(transcript[mention.start : mention.end], names)
    return inner - said


def _sizes_in(option: str, names: MenuNames) -> set[str]:
    key = tuple(word.stem for word in words(option))
    shorter = (key[start:end] for start, end in windows(key, len(key) - 1))
    return {name.id for part in shorter for name in names.whole.get(part, ()) if name.kind == "size"}
