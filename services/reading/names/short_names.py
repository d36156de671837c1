"""Short forms that customers make of a menu's names where a till's export gives no aliases: "turkey" for an
oven roasted turkey sub, "Swiss" for Swiss cheese, "fries" for french fries, "a tomato basil" for that soup.

A form stands where only one name of its scope (all items, or the options of one group) can be meant, and
where what is left out says nothing of its own. "Milk" is no chocolate milk, "a burger" no veggie burger and
"a banana" no banana bread, even where the menu has no other: these stay a part of a name, and a doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from services.reading.effort import charge
from services.reading.language.language import Language
from services.reading.names.short_forms import BoardName, Forms, Words

# By kind, group and words of a short form: the ids that it may be short for, and whether it is bare.
Shortened = dict[tuple[str, str, Words], dict[str, bool]]


class Short(NamedTuple):
    """A short form. A `bare` one leaves out what sort of thing it is ("a turkey")."""

    words: Words
    kind: str
    group: str
    ref: str
    bare: bool


def short_names(
    names: Sequence[BoardName],
    taken: Mapping[Words, set[str]],
    beside: Mapping[str, set[str]],
    said: Language,
) -> list[Short]:
    """The short forms of `names` that are clear.

    `taken` holds the menu's names with what they are of (`item`, `size` or a group of options): an option may
    be called as one of a group that no item has `beside` its own.
    """
    alike: dict[tuple[str, str, str], list[BoardName]] = defaultdict(list)
    for name in names:
        for word in set(name.words):
            alike[name.kind, name.group, word].append(name)
    found = _shortened(names, taken, beside, said)
    shorts = []
    for (kind, group, words), of in found.items():
        if len(of) > 1:
            continue
        near = alike[kind, group, words[-1]]
        charge(2 * len(near))
        ref, bare = next(iter(of.items()))
        if not any(_may_be(n, words, bare, said) for n in near if n.ref != ref):
            shorts.append(Short(words, kind, group, ref, bare))
    return shorts


def _shortened(
    names: Iterable[BoardName],
    taken: Mapping[Words, set[str]],
    beside: Mapping[str, set[str]],
    said: Language,
) -> Shortened:
    """Every short form that is no name itself, whomever it may be short for."""
    held: dict[str, set[tuple[str, str, str]]] = defaultdict(set)
    for name in names:
        for word in name.words:
            held[word].add((name.kind, name.group, name.ref))
    forms = Forms(held, said)
    found: Shortened = defaultdict(dict)
    for name in names:
        charge(len(name.words))
        for words, bare in forms.of(name):
            charge(len(words))
            if not _is_taken(words, name, taken, beside) and not _counts(words, name, said):
                of = found[name.kind, name.group, words]
                of[name.ref] = bare and of.get(name.ref, True)
    return found


def _is_taken(
    words: Words, name: BoardName, taken: Mapping[Words, set[str]], beside: Mapping[str, set[str]]
) -> bool:
    """Whether words are a name already, of something that could be meant in the place of `name`."""
    others = taken.get(words, set())
    if name.kind == "option":
        others = others & {"item", "size", name.group, *beside.get(name.group, ())}
    return bool(others)


def _counts(words: Words, name: BoardName, said: Language) -> bool:
    """Whether words count things: "four baklavas" are no four piece baklava."""
    measured = name.kind == "item" and (words[0] in said.measures or words[0] in said.vessels)
    return measured or any(word.isdigit() for word in words)


def _may_be(name: BoardName, words: Words, bare: bool, said: Language) -> bool:
    """Whether another name may be meant by the words: one that ends in them, and, where they leave out what
    sort of thing it is, one that holds them anywhere."""
    n = len(words)
    ends = [i for i in range(n, len(name.words) + 1) if name.words[i - n : i] == words]
    # "Fries" are no sweet potato fries, where there are french ones; nor is vanilla a sugar-free one.
    ends = [i for i in ends if said.defining.isdisjoint(name.words[: i - n])]
    return any(bare or i == len(name.words) for i in ends)
