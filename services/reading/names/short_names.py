"""Short forms that customers make of a menu's names where a till's export gives no aliases: "turkey" for an
oven roasted turkey sub, "Swiss" for Swiss cheese, "fries" for french fries, "a tomato basil" for that soup.

A form stands where only one name of its scope (all items, or the options of one group) can be meant, and
where what is left out says nothing of its own. "Milk" is no chocolate milk, "a burger" no veggie burger and
"a banana" no banana bread, even where the menu has no other: these stay a part of a name, and a doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from services.reading.effort import charge
from services.reading.language.english import JOINTS, MEASURES, VESSELS
from services.reading.names.short_words import (
    BUNDLES,
    DEFINING,
    EMPTY,
    GRAINS,
    HEADS,
    HOLDERS,
    IDLE,
    ITEM_SORTS,
    LIKE,
    MADE_OF,
    NO_NAME,
    OPTION_SORTS,
    OTHER_THING,
    PLAIN_HEADS,
    PRAISE,
    SAID_OF_MANY,
    THINGS,
)

Words = tuple[str, ...]
# By word, whose names hold it.
Held = Mapping[str, set[tuple[str, str, str]]]


class Name(NamedTuple):
    """One of a menu's names: its words, folded, and whose it is. `sort` is the item's category, or the last
    word of the option's group ("bread"). `alone` says that one word may be enough: of a brand the first
    ("Doritos Nacho Cheese"), of a group of which one is chosen what tells it from the rest ("dark roast")."""

    words: Words
    kind: str
    group: str
    ref: str
    alone: bool = False
    sort: Words = ()
    aliases: tuple[Words, ...] = ()


class Short(NamedTuple):
    """A short form. A `bare` one leaves out what sort of thing it is ("a turkey")."""

    words: Words
    kind: str
    group: str
    ref: str
    bare: bool


def short_names(
    names: Sequence[Name], taken: Mapping[Words, set[str]], beside: Mapping[str, set[str]]
) -> list[Short]:
    """The short forms of `names` that are clear.

    `taken` holds the menu's names with what they are of (`item`, `size` or a group of options): an option may
    be called as one of a group that no item has `beside` its own.
    """
    held: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    alike: dict[tuple[str, str, str], list[Name]] = defaultdict(list)
    for name in names:
        for word in set(name.words):
            held[word].add((name.kind, name.group, name.ref))
            alike[name.kind, name.group, word].append(name)
    found: dict[tuple[str, str, Words], dict[str, bool]] = defaultdict(dict)
    for name in names:
        charge(len(name.words))
        for words, bare in _forms(name, held):
            charge(len(words))
            others = taken.get(words, set())
            if name.kind == "option":
                others = others & {"item", "size", name.group, *beside.get(name.group, ())}
            if not others and not _counts(words, name):
                of = found[name.kind, name.group, words]
                of[name.ref] = bare and of.get(name.ref, True)
    shorts = []
    for (kind, group, words), of in found.items():
        if len(of) > 1:
            continue
        near = alike[kind, group, words[-1]]
        charge(2 * len(near))
        shorts += [
            Short(words, kind, group, ref, bare)
            for ref, bare in of.items()
            if not any(_may_be(n, words, bare) for n in near if n.ref != ref)
        ]
    return shorts


def _forms(name: Name, held: Held) -> Iterator[tuple[Words, bool]]:
    """Every shorter way to say a name, and whether it is bare."""
    if name.kind == "item":
        if name.alone and name.words[1:] and _own(name.words[0], held) and name.words[0] not in THINGS:
            yield name.words[:1], True  # "Doritos"; what follows is their flavour
            return
        yield from _without_holder(name)
        yield from _of_item(name, held)
        return
    forms = [*_without_holder(name), *_of_option(name, held)]
    yield from forms
    if OPTION_SORTS.issuperset(name.sort) and name.words[-1:] != name.sort:
        # "White bread", where the group is called bread.
        yield from (((*words, *name.sort), bare) for words, bare in [*forms, (name.words, False)])


def _without_holder(name: Name) -> Iterator[tuple[Words, bool]]:
    """A "milk carton" as milk, a "lemon slice" as lemon."""
    words = _unpacked(name.words)
    if words != name.words and _tells(words):
        yield words, True


def _of_item(name: Name, held: Held) -> Iterator[tuple[Words, bool]]:
    words = _unpacked(name.words)
    if words[1:] and words[-1] in ITEM_SORTS:
        *rest, sort = words
        parts = [
            tuple(rest),
            *(part for part in _ends(rest) if PRAISE.issuperset(rest[: -len(part)])),
        ]
        if len(rest) > 1 and _own(rest[0], held):
            parts.append((rest[0],))  # "meatball" for a meatball marinara sub
        yield from ((part, True) for part in parts if _tells(part))
        endings = [part for part in _ends(rest) if _same_thing(rest[: -len(part)])]
        beginning = [(rest[0],)] if not DEFINING.intersection(rest[1:]) else []
        for part in [*endings, *beginning]:
            if _tells(part) and _told_by_items(part, held):
                yield (*part, sort), False
    before = words[: -len(name.sort)] if name.sort and words[-len(name.sort) :] == name.sort else ()
    if _tells(before) and not THINGS.issuperset(before) and not BUNDLES.intersection(name.sort):
        yield before, True  # a "watermelon" among the aguas frescas
    if words[1:] == ("latte",) and _own(words[0], held) and words[0] not in THINGS:
        yield words[:1], True  # "a chai"
    if words[2:] and not JOINTS.intersection(words):
        ends = words[-1] not in ITEM_SORTS | LIKE and words[0] not in LIKE | IDLE | DEFINING
        if ends and not THINGS.union(DEFINING).intersection(words[1:-1]):
            yield (words[0], words[-1]), False  # an "oatmeal cookie", without the raisins
    for part in _ends(words):
        left_out = words[: -len(part)]
        clear = IDLE.issuperset(left_out) or (part[1:] and _same_thing(left_out))
        clear = clear or part[0] in HEADS - PLAIN_HEADS
        # A "chicken pizza" may be any pizza with chicken.
        any_of_sort = part[1:] and part[-1] in ITEM_SORTS and not _told_by_items(part[:-1], held)
        if clear and not any_of_sort and _tells(part) and not DEFINING.intersection(left_out):
            yield part, False
    for alias in name.aliases:
        if alias[-1] != words[-1]:
            yield (*alias, words[-1]), False  # a "jalapeño sausage link", if "jalapeño sausage" is enough


def _of_option(name: Name, held: Held) -> Iterator[tuple[Words, bool]]:
    words = _unpacked(name.words)
    if words[1:] and words[-1] in OPTION_SORTS:
        *rest, sort = words
        parts = [
            tuple(rest),
            *(part for part in _ends(rest) if PRAISE.issuperset(rest[: -len(part)])),
        ]
        for part in parts:
            if _tells(part) and not (
                part[-1] in THINGS and not part[1:] and (sort in MADE_OF or part != parts[0])
            ):
                yield part, True
        yield from (
            ((*part, sort), False) for part in [*_ends(rest), (rest[0],)] if _tells(part) and part[1:]
        )
    if name.alone and words[1:]:
        first, last = words[0], words[-1]
        charge(1 + len(held[last]) // 8)
        sorts = {ref for _, group, ref in held[last] if group == name.group}
        if len(held[first]) == 1 and len(first) > 2 and first not in SAID_OF_MANY | IDLE and len(sorts) > 1:
            yield (first,), True  # "dark", where there is a light roast and a dark one
        if len(held[last]) == 1 and last in GRAINS:
            yield (last,), True  # "on wheat"
    for part in _ends(words):
        left_out = words[: -len(part)]
        clear = IDLE.issuperset(left_out) or (part[0] in HEADS and PRAISE.issuperset(left_out))
        if clear and _tells(part) and not DEFINING.intersection(left_out):
            yield part, False


def _unpacked(words: Words) -> Words:
    """A name without what the thing comes in."""
    return words[:-1] if words[1:] and words[-1] in HOLDERS else words


def _ends(words: Sequence[str]) -> list[Words]:
    """What is left of words without the first, the first two ..."""
    cuts = (i for i in range(1, len(words)) if words[i] not in JOINTS and words[i - 1] not in JOINTS)
    return [tuple(words[i:]) for i in cuts]


def _tells(part: Sequence[str]) -> bool:
    """Whether words tell which thing is meant, and not only what it is like."""
    about = all(word in EMPTY or len(word) < 3 or word.isdigit() for word in part)
    return not about and part[-1] not in JOINTS and part[0] not in JOINTS


def _own(word: str, held: Held) -> bool:
    """Whether a word tells a thing that no other name of the menu holds."""
    return len(held[word]) == 1 and len(word) > 2 and word not in NO_NAME


def _same_thing(left_out: Sequence[str]) -> bool:
    """Whether a thing is the same without these words."""
    return not OTHER_THING.intersection(left_out)


def _told_by_items(part: Words, held: Held) -> bool:
    """Whether words are not one that a choice has too."""
    return bool(part[1:]) or all(kind == "item" for kind, *_ in held[part[0]])


def _counts(words: Words, name: Name) -> bool:
    """Whether words count things: "four baklavas" are no four piece baklava."""
    measured = name.kind == "item" and words[0] in MEASURES | VESSELS
    return measured or any(word.isdigit() for word in words)


def _may_be(name: Name, words: Words, bare: bool) -> bool:
    """Whether another name may be meant by the words: one that ends in them, and, where they leave out what
    sort of thing it is, one that holds them anywhere."""
    n = len(words)
    ends = [i for i in range(n, len(name.words) + 1) if name.words[i - n : i] == words]
    # "Fries" are no sweet potato fries, where there are french ones; nor is vanilla a sugar-free one.
    ends = [i for i in ends if not DEFINING.intersection(name.words[: i - n])]
    return any(bare or i == len(name.words) for i in ends)
