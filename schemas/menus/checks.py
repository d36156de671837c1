"""Checks beyond a menu document's shape: clashing or repeated names, references to nothing, contradicting
counts, and size limits."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from typing import TypeVar

from schemas.menus.parts import Item, Option, OptionGroup, Size

Note = tuple[str, str]
"""A JSON pointer into the original document, and a sentence."""

Named = TypeVar("Named", Size, Option, Item)

# Limits of one menu, besides those of its fields; llguidance fails at about 4,000 options.
MAX_ITEMS, MAX_OPTIONS, MAX_NAMES, MAX_OFFERS = 10_000, 3_000, 30_000, 50_000


def spoken_key(name: str) -> str:
    """Return a name without what can't be heard: case, punctuation, spacing, and how accents are encoded."""
    return " ".join(re.findall(r"\w+", unicodedata.normalize("NFC", name).casefold()))


def name_clashes(
    sizes: Sequence[Size], groups: Sequence[OptionGroup], items: Sequence[Item]
) -> Iterator[Note]:
    """Yield problems of ids, names and aliases that two things share, or that can't be spoken."""
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
    """Yield a problem for each (path, value) that is empty or repeats an earlier value."""
    seen: dict[str, str] = {}
    for path, value in values:
        if not value:
            yield path, f"{what} has no letters or digits"
        elif value in seen:
            yield path, f"{what} {value!r} is already used at {seen[value]}"
        else:
            seen[value] = path


def repeated(ids: Sequence[str], path: str, what: str) -> Iterator[Note]:
    """Yield a problem if a list repeats an id."""
    if len(set(ids)) != len(ids):
        yield path, f"{what} is named twice"


def _names_of(parts: Iterable[Size | Option | Item], root: str) -> list[tuple[str, str]]:
    """Return (path, spoken key) of each name and alias."""
    result = []
    for index, part in enumerate(parts):
        # Names of one thing don't clash with each other, so each key counts once.
        own = {spoken_key(part.name): f"{root}/{index}/name"}
        for a, alias in enumerate(part.aliases):
            own.setdefault(spoken_key(alias), f"{root}/{index}/aliases/{a}")
        result += [(path, key) for key, path in own.items()]
    return result


def tidied(parts: Iterable[Named], root: str, notes: list[Note]) -> Iterator[Named]:
    """Yield the parts without repeated names; add a note for each dropped name."""
    for index, part in enumerate(parts):
        repeats = _repeats(part)
        for a, first in repeats.items():
            note = f"“{part.aliases[a]}” reads like “{first}”, so it was dropped"
            notes.append((f"{root}/{index}/aliases/{a}", note))
        kept = tuple(alias for a, alias in enumerate(part.aliases) if a not in repeats)
        yield part.model_copy(update={"aliases": kept}) if repeats else part


def _repeats(part: Size | Option | Item) -> dict[int, str]:
    """Return the aliases (by index) that read like an earlier name of the same part, with that name."""
    known = {_read(part.name): part.name}
    repeats = {}
    for index, alias in enumerate(part.aliases):
        first = known.setdefault(_read(alias), alias)
        if first is not alias:
            repeats[index] = first
    return repeats


def _read(name: str) -> str:
    """Return `spoken_key` with symbols as words: "mac & cheese" is not "mac cheese"."""
    signs = re.sub(r"[%&+#@$€£]", lambda sign: f" _{ord(sign[0])} ", name)
    return spoken_key(signs)


def too_many(sizes: Sequence[Size], groups: Sequence[OptionGroup], items: Sequence[Item]) -> list[Note]:
    """Return problems of a menu over the limits."""
    options = [option for group in groups for option in group.options]
    named: list[Size | Option | Item] = [*sizes, *options, *items]
    counted = (
        ("/items", "items", len(items), MAX_ITEMS),
        ("/option_groups", "options in all groups together", len(options), MAX_OPTIONS),
        ("/", "names and aliases in all", sum(1 + len(part.aliases) for part in named), MAX_NAMES),
        ("/items", "option groups of all items", sum(len(i.option_groups) for i in items), MAX_OFFERS),
        ("/option_groups", "groups of all options", sum(len(o.option_groups) for o in options), MAX_OFFERS),
        ("/items", "option overrides in all", sum(len(i.option_overrides) for i in items), MAX_OFFERS),
    )
    return [
        (path, f"has {number} {what}, and at most {most} are taken; split the menu in two")
        for path, what, number, most in counted
        if number > most
    ]


def group_problems(group: OptionGroup, path: str, sizes: set[str]) -> Iterator[Note]:
    """Yield contradictions between a group's counts, defaults and prices."""
    yield from _counted_wrongly(group, path)
    known = {option.id for option in group.options}
    for d, option_id in enumerate(group.defaults):
        if option_id not in known:
            yield f"{path}/defaults/{d}", f"no option {option_id!r} in this group"
    yield from repeated(group.defaults, f"{path}/defaults", "an option")
    yield from _too_many_defaults(group, f"{path}/defaults")
    for o, option in enumerate(group.options):
        for size_id in option.prices:
            if size_id not in sizes:
                yield f"{path}/options/{o}/prices/{size_id}", f"no size {size_id!r} in `sizes`"


def _counted_wrongly(group: OptionGroup, path: str) -> Iterator[Note]:
    if group.required != (group.least > 0):
        yield f"{path}/required", f"contradicts `min`, which is {group.least}"
    if group.max is not None and (group.choose == "one") != (group.max == 1):
        yield f"{path}/choose", f"contradicts `max`, which is {group.max}"
    for name, count in (("min", group.least), ("max_each", group.max_each), ("free", group.free)):
        if group.max is not None and (count or 0) > group.max:
            yield f"{path}/{name}", f"is over `max`, which is {group.max}"
    if group.max_each is not None and group.least > group.max_each * len(group.options):
        yield f"{path}/min", "is more than all options together may be chosen"


def _too_many_defaults(group: OptionGroup, path: str) -> Iterator[Note]:
    most = 1 if group.choose == "one" else group.max
    if most is not None and len(group.defaults) > most:
        yield path, f"the group takes at most {most}"


def item_problems(
    item: Item, path: str, sizes: set[str], groups: dict[str, OptionGroup], taxes: set[str]
) -> Iterator[Note]:
    """Yield problems of an item's references and prices."""
    yield from _priced_wrongly(item, path, sizes)
    for g, group_id in enumerate(item.option_groups):
        if group_id not in groups:
            yield f"{path}/option_groups/{g}", f"no group {group_id!r}"
    yield from repeated(item.option_groups, f"{path}/option_groups", "a group")
    if item.tax is not None and item.tax not in taxes:
        yield f"{path}/tax", f"no tax {item.tax!r} in `taxes`"
    yield from _overridden_wrongly(item, f"{path}/option_overrides", groups)


def _priced_wrongly(item: Item, path: str, sizes: set[str]) -> Iterator[Note]:
    if (item.price is None) == (item.prices is None):
        yield path, "give either `price` or `prices`, not both and not neither"
    if item.prices is not None and not item.prices:
        yield f"{path}/prices", "name at least one size, or use `price`"
    for size_id in item.size_ids:
        if size_id not in sizes:
            yield f"{path}/prices/{size_id}", f"no size {size_id!r} in `sizes`"
    for size_id in item.size_refs:
        if size_id not in item.size_ids:
            yield f"{path}/size_refs/{size_id}", "must be one of the item's own sizes"
    if item.default_size is not None and item.default_size not in item.size_ids:
        yield f"{path}/default_size", "must be one of the item's own sizes"


def _overridden_wrongly(item: Item, path: str, groups: dict[str, OptionGroup]) -> Iterator[Note]:
    for o, one in enumerate(item.option_overrides):
        group = groups.get(one.group) if one.group in item.option_groups else None
        if group is None:
            yield f"{path}/{o}/group", f"the item has no group {one.group!r}"
        elif one.option not in {option.id for option in group.options}:
            yield f"{path}/{o}/option", f"no option {one.option!r} in the group {one.group!r}"
    named = [(f"{path}/{o}", f"{one.group}/{one.option}") for o, one in enumerate(item.option_overrides)]
    yield from clashes(named, "option")
    for group_id in dict.fromkeys(one.group for one in item.option_overrides):
        if group_id in item.option_groups and group_id in groups:
            yield from _too_many_defaults(item.own(groups[group_id]), path)
