"""Names of a menu: how they are told apart by ear, which ones clash, and which say the same twice."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from schemas.menus.parts import Item, Option, OptionGroup, Size

Note = tuple[str, str]
"""A JSON pointer into the document as it came, and a sentence."""

Named = TypeVar("Named", Size, Option, Item)


def spoken_key(name: str) -> str:
    """Fold a name to what can be told apart by ear: case, punctuation, spacing and the way in which an accent
    is spelled do not count."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", name).casefold()))


def name_clashes(
    sizes: Sequence[Size], groups: Sequence[OptionGroup], items: Sequence[Item]
) -> Iterator[Note]:
    """Ids, names and aliases of two things that are the same, or that are unspeakable."""
    yield from clashes([(f"/sizes/{i}/id", size.id) for i, size in enumerate(sizes)], "size id")
    yield from clashes(_names_of(sizes, "/sizes"), "size name or alias")
    yield from clashes([(f"/option_groups/{i}/id", group.id) for i, group in enumerate(groups)], "group id")
    called = [(f"/option_groups/{i}/name", spoken_key(group.name)) for i, group in enumerate(groups)]
    yield from clashes(called, "group name")
    for g, group in enumerate(groups):
        root = f"/option_groups/{g}/options"
        yield from clashes([(f"{root}/{i}/id", o.id) for i, o in enumerate(group.options)], "option id")
        yield from clashes(_names_of(group.options, root), "option name or alias")
    yield from clashes([(f"/items/{i}/sku", item.sku) for i, item in enumerate(items)], "sku")
    yield from clashes(_names_of(items, "/items"), "item name or alias")
    numbers = [(f"/items/{i}/number", str(item.number)) for i, item in enumerate(items) if item.number]
    yield from clashes(numbers, "number")


def clashes(values: Iterable[tuple[str, str]], what: str) -> Iterator[Note]:
    """A problem for each value (with its place) that is empty or that another has before it."""
    seen: dict[str, str] = {}
    for path, value in values:
        if not value:
            yield path, f"{what} has no letters or digits"
        elif value in seen:
            yield path, f"{what} {value!r} is already used at {seen[value]}"
        else:
            seen[value] = path


def _names_of(parts: Iterable[Size | Option | Item], root: str) -> list[tuple[str, str]]:
    """Where each name and alias stands, and how it is said."""
    found = []
    for index, part in enumerate(parts):
        # Names of one thing don't clash with each other, so each way to say it counts once.
        own = {spoken_key(part.name): f"{root}/{index}/name"}
        for a, alias in enumerate(part.aliases):
            own.setdefault(spoken_key(alias), f"{root}/{index}/aliases/{a}")
        found += [(path, key) for key, path in own.items()]
    return found


def tidied(parts: Iterable[Named], root: str, notes: list[Note]) -> Iterator[Named]:
    """The parts, each name of a thing once; what was dropped is added to `notes`."""
    for index, part in enumerate(parts):
        repeats = _repeats(part)
        for a, first in repeats.items():
            note = f"“{part.aliases[a]}” reads like “{first}”, so it was dropped"
            notes.append((f"{root}/{index}/aliases/{a}", note))
        kept = tuple(alias for a, alias in enumerate(part.aliases) if a not in repeats)
        yield part.model_copy(update={"aliases": kept}) if repeats else part


def _repeats(part: Size | Option | Item) -> dict[int, str]:
    """Which aliases read like a name that the same thing has before them, each with that name."""
    known = {_read(part.name): part.name}
    found = {}
    for index, alias in enumerate(part.aliases):
        first = known.setdefault(_read(alias), alias)
        if first is not alias:
            found[index] = first
    return found


def _read(name: str) -> str:
    """Finer than `spoken_key`: a sign that is read as a word is one ("mac & cheese" is not "mac cheese")."""
    signs = re.sub(r"[%&+#@$€£]", lambda sign: f" _{ord(sign[0])} ", name)
    return spoken_key(signs)
