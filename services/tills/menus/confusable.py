"""Names of a menu that will be confused when they are said, and codes that nobody says."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import combinations, product

from rapidfuzz import fuzz

from schemas.menu import Menu, Note
from services.retrieval.names import MenuNames, Name, Stems
from services.retrieval.retrieval import LETTERS, MOST_SHARED
from services.retrieval.words import stems

SHOWN = 4  # names in one warning

# A letter next to a digit, or letters that no word has: "B12", "MOD2", "GRP".
_CODE = re.compile(r"[A-Za-z]+\d\w*|\d+[A-Za-z]{2,}\w*|[B-DF-HJ-NP-TV-XZ]{2,}|\d+")


def warnings(menu: Menu) -> Iterator[Note]:
    """(JSON pointer, sentence) of each; none of them keeps a menu from serving orders."""
    names, places = MenuNames(menu), dict(_places(menu))
    yield from (
        (places[name], f"who says only “{name.text}” gets this, not {o}") for name, o in _inside(names)
    )
    yield from ((places[name], f"“{name.text}” sounds like “{other.text}”") for name, other in _alike(names))
    for item in menu.items:
        if all(map(_is_code, (item.name, *item.aliases))):
            yield places[Name("item", item.sku, item.name)], f"“{item.name}” is a code: add an alias to say"
    for g, group in enumerate(menu.option_groups):
        if group.least and _is_code(group.name):
            yield f"/option_groups/{g}/name", f"“{group.name}” is a code, and customers are asked for it"


def _places(menu: Menu) -> Iterator[tuple[Name, str]]:
    for s, size in enumerate(menu.sizes):
        yield Name("size", size.id, size.name), f"/sizes/{s}/name"
    for i, item in enumerate(menu.items):
        yield Name("item", item.sku, item.name), f"/items/{i}/name"
    for g, group in enumerate(menu.option_groups):
        for o, option in enumerate(group.options):
            name = Name("option", option.id, option.name, group.id)
            yield name, f"/option_groups/{g}/options/{o}/name"


def _inside(names: MenuNames) -> Iterator[tuple[Name, str]]:
    """Names that are a part of others, and these."""
    for key in names.whole:
        longer = _around(key, names)
        for name in _printed(key, names) if longer else ():
            rivals = [one for other in longer for one in _printed(other, names) if _same_choice(name, one)]
            if rivals:
                yield name, ", ".join(f"“{rival.text}”" for rival in rivals[:SHOWN])


def _around(key: Stems, names: MenuNames) -> list[Stems]:
    """Longer names that have all words of `key`, in that order and next to each other."""
    having = names.having.get(key[0], []) if key not in names.numbered else []
    if len(having) > MOST_SHARED:
        return []
    return [longer for longer in having if longer != key and _contains(longer, key)]


def _contains(longer: Stems, key: Stems) -> bool:
    return any(longer[at : at + len(key)] == key for at in range(len(longer) - len(key) + 1))


def _alike(names: MenuNames) -> Iterator[tuple[Name, Name]]:
    """Names that sound the same and are spelled almost so."""
    by_sound: dict[str, list[tuple[str, Stems]]] = {}
    for letters, sound, key in names.spellings:
        by_sound.setdefault(sound, []).append((letters, key))
    for same in by_sound.values():
        for (letters, key), (others, other) in combinations(same, 2):
            if fuzz.ratio(letters, others) >= LETTERS:
                both = product(names.whole[key], names.whole[other])
                yield from ((name, rival) for name, rival in both if _same_choice(name, rival))


def _printed(key: Stems, names: MenuNames) -> list[Name]:
    """What the menu prints so; other things may have it as an alias."""
    return [name for name in names.whole[key] if stems(name.text) == key]


def _same_choice(name: Name, other: Name) -> bool:
    """Whether one could be had in place of the other."""
    return (name.kind, name.group) == (other.kind, other.group) and name.id != other.id


def _is_code(name: str) -> bool:
    words = re.findall(r"\w+", name.replace("_", " "))
    coded = [word for word in words if _CODE.fullmatch(word)]
    # An abbreviation alone is said by its letters: "BLT".
    return bool(coded) and len(coded) == len(words) and not (len(words) == 1 and words[0].isalpha())
