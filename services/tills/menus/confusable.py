"""Warnings about names on a menu that sound alike or contain each other, and about codes as names."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from itertools import combinations

from rapidfuzz import fuzz

from schemas.menu import Menu, Note
from services.retrieval.names import MenuNames, Name, Stems
from services.retrieval.retrieval import MAX_SHARED, SIMILARITY
from services.retrieval.words import stems

SHOWN = 4  # names in one warning

# A letter next to a digit, or letters without a vowel: "B12", "MOD2", "GRP".
_CODE = re.compile(r"[A-Za-z]+\d\w*|\d+[A-Za-z]{2,}\w*|[B-DF-HJ-NP-TV-XZ]{2,}|\d+")


def warnings(menu: Menu) -> Iterator[Note]:
    """Yield (JSON pointer, sentence) for each; the menu can be used nevertheless."""
    names = MenuNames(menu)
    places = {name: place for name, _, place in names.parts()}
    for key in names.whole:
        for name in _printed(key, names):
            if rivals := [f"“{other.text}”" for other in _longer(name, key, names)]:
                yield places[name], f"“{name.text}” alone means this, not {', '.join(rivals[:SHOWN])}"
    texts = {(name, stems(one)): one for name, part, _ in names.parts() for one in (*part.aliases, part.name)}
    for key, other in _alike(names):
        for name in names.whole[key]:
            for rival in _rivals(name, names.whole[other]):
                yield places[name], f"“{texts[name, key]}” sounds like “{texts[rival, other]}”"
    yield from _codes(menu)


def _codes(menu: Menu) -> Iterator[Note]:
    for i, item in enumerate(menu.items):
        if all(map(_is_code, (item.name, *item.aliases))):
            yield f"/items/{i}/name", f"“{item.name}” is a code: add an alias to say"
    for g, group in enumerate(menu.option_groups):
        if group.least and _is_code(group.name):
            yield f"/option_groups/{g}/name", f"“{group.name}” is a code, and customers are asked for it"
        for o, option in enumerate(group.options if group.least else ()):
            if all(_is_code(one) and not one.isdecimal() for one in (option.name, *option.aliases)):
                sentence = f"“{option.name}” is a code: customers choose a {group.name} by its name"
                yield f"/option_groups/{g}/options/{o}/name", sentence


def _longer(name: Name, key: Stems, names: MenuNames) -> Iterator[Name]:
    """Yield rivals of a name that contain it, word for word."""
    containing = names.containing.get(key[0], [])
    for longer in containing if len(containing) <= MAX_SHARED else ():
        starts = range(len(longer) - len(key) + 1)
        if longer != key and any(longer[at : at + len(key)] == key for at in starts):
            yield from _rivals(name, _printed(longer, names))


def _printed(key: Stems, names: MenuNames) -> list[Name]:
    """Return the things with this as their name, not as an alias."""
    return [name for name in names.whole[key] if stems(name.text) == key]


def _rivals(name: Name, others: Iterable[Name]) -> Iterator[Name]:
    """Yield the names that could be chosen instead of `name`."""
    kind = (name.kind, name.group)
    yield from (other for other in others if (other.kind, other.group) == kind and other.id != name.id)


def _alike(names: MenuNames) -> Iterator[tuple[Stems, Stems]]:
    """Yield pairs of names that sound the same and are spelled almost alike."""
    by_sound = defaultdict[tuple[str, str], list[tuple[str, Stems]]](list)
    for letters, sound, key in names.spellings:
        # A sound has no digits, and "10 inch" isn't like "12 inch".
        by_sound[sound, re.sub(r"\D+", " ", letters)].append((letters, key))
    for same in by_sound.values():
        for (letters, key), (others, other) in combinations(same, 2):
            if fuzz.ratio(letters, others) >= SIMILARITY:
                yield key, other


def _is_code(name: str) -> bool:
    words = re.findall(r"\w+", name.replace("_", " "))
    # A single abbreviation can be said: "BLT".
    return all(map(_CODE.fullmatch, words)) and not (len(words) == 1 and words[0].isalpha())
