"""Options inside options: what an option opens, such as the drink of a meal with its size and its ice.

All groups of an item are one flat list, in which a nested group's id is the way to it: `drink>cola>ice` is
the group `ice` under the option `cola` of the group `drink`. `drink>cola` itself is the sizes of the item
that this option is. It is open while a line has that option. `>` is in no id of a menu.

A choice whose option isn't known yet is in a group under none: `>>ice`, and `>` for a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from schemas.menus.checks import Note, repeated
from schemas.menus.parts import Item, Option, OptionGroup, Size
from schemas.sentences.sentences import sentences

LEVELS = 3
MAX_NESTED = 20_000
"""Options of all groups, counted once for each option that they are under."""
_UNDER = ">"


class _Menu(Protocol):
    @property
    def language(self) -> str: ...
    @property
    def sizes(self) -> tuple[Size, ...]: ...
    def item(self, sku: str) -> Item | None: ...
    def group(self, group_id: str) -> OptionGroup | None: ...


def under(group_id: str) -> tuple[str, str] | None:
    """Return group and id of the option that a nested group is under: both empty while it isn't known, None
    for a group that is not nested."""
    *above, last = group_id.split(_UNDER)
    if not above:
        return None
    *group, option = above if len(above) % 2 == 0 else [*above, last]
    return _UNDER.join(group), option


def source(group_id: str) -> str:
    """Return the id that a group has in the document; empty for the sizes of an item."""
    way = group_id.split(_UNDER)
    return way[-1] if len(way) % 2 else ""


def sizes_under(group_id: str, option_id: str) -> str:
    """Return the id of the group of an option's sizes; those of groups below the option begin with it."""
    return f"{group_id}{_UNDER}{option_id}"


def is_within(group_id: str, way: str) -> bool:
    """Whether a group is inside the option or group of a way, or is that group; any is within no way."""
    return not way or f"{group_id}{_UNDER}".startswith(f"{way}{_UNDER}")


def unplaced(group_id: str) -> str:
    """Return the id of a nested group while it isn't known under which option it is."""
    return f"{_UNDER}{_UNDER}{source(group_id)}" if source(group_id) else _UNDER


def with_nested(group: OptionGroup, menu: _Menu, fixed: str | None = None) -> Iterator[OptionGroup]:
    """A group of an item, then those that its options open, level by level down each option.

    `fixed` is the one size of the item that the group is of, empty for an item without sizes; None where
    its size is the line's, or is chosen.
    """
    if any(option.item or (option.prices and fixed is not None) for option in group.options):
        options = tuple(_as_here(option, menu, fixed) for option in group.options)
        group = group.model_copy(update={"options": options})
    yield group
    for option in group.options:
        item = menu.item(option.item) if option.item else None
        inner_fixed = fixed
        if item is not None:
            yield from _sizes(group, option, item, menu)
            inner_fixed = None if len(item.size_ids) > 1 else (*item.size_ids, "")[0]
        for one in opened(option, menu):
            update = {"id": f"{sizes_under(group.id, option.id)}{_UNDER}{one.id}"}
            update["name"] = _named(one.name, option, menu)
            yield from with_nested(one.model_copy(update=update), menu, inner_fixed)


def opened(option: Option, menu: _Menu) -> list[OptionGroup]:
    """The groups that an option opens, as they are in the document or on the item that it is."""
    item = menu.item(option.item) if option.item else None
    groups = map(menu.group, option.option_groups if item is None else item.option_groups)
    return [one if item is None else item.own(one) for one in groups if one is not None]


def _as_here(option: Option, menu: _Menu, fixed: str | None) -> Option:
    """An option with its price in the one size that there is, and what it has of the item that it is."""
    if fixed is not None:
        option = option.model_copy(update={"price": option.price_in(fixed), "prices": {}})
    item = menu.item(option.item) if option.item else None
    if item is None:
        return option
    option = option.model_copy(update={"ref": option.ref or item.ref})
    return option if item.available else option.gone(closed=item.closed)


def _sizes(group: OptionGroup, option: Option, item: Item, menu: _Menu) -> Iterator[OptionGroup]:
    """The sizes of an option that is an item. Its default size, or else its cheapest, is in the option's
    price; a dearer one costs the difference."""
    prices = item.prices or {}
    if len(prices) < 2:
        return
    least = prices[item.default_size] if item.default_size else min(prices.values())
    yield OptionGroup.model_construct(
        id=sizes_under(group.id, option.id),
        name=_named(sentences(menu.language)("size"), option, menu),
        required=True,
        max=1,
        defaults=(item.default_size,) if item.default_size else (),
        options=tuple(
            Option(
                id=size.id,
                name=size.name,
                aliases=size.aliases,
                price=max(0, prices[size.id] - least),
                ref=item.size_refs.get(size.id, size.ref),
            )
            for size in menu.sizes
            if size.id in prices
        ),
    )


def _named(name: str, option: Option, menu: _Menu) -> str:
    return sentences(menu.language)("nested_group", group=name, option=option.name)


def nesting_problems(groups: Sequence[OptionGroup], menu: _Menu) -> Iterator[Note]:
    """References of options that lead nowhere, or too deep, and more of them than a menu may hold."""
    found = [
        note
        for g, group in enumerate(groups)
        for o, option in enumerate(group.options)
        for note in _led_nowhere(group, option, f"/option_groups/{g}/options/{o}", menu)
    ]
    yield from found or _too_many(groups, menu)


def _led_nowhere(group: OptionGroup, option: Option, path: str, menu: _Menu) -> Iterator[Note]:
    if option.item is not None and option.option_groups:
        yield path, "give either `item` or `option_groups`, not both"
    if option.item is not None and menu.item(option.item) is None:
        yield f"{path}/item", f"no item {option.item!r} in `items`"
    for k, group_id in enumerate(option.option_groups):
        if menu.group(group_id) is None:
            yield f"{path}/option_groups/{k}", f"no group {group_id!r}"
    yield from repeated(option.option_groups, f"{path}/option_groups", "a group")
    inner = opened(option, menu)
    opens = bool(inner or option.item)
    if opens and any(one.halves for one in (group, *inner)):
        yield path, "opens groups, and neither its own nor these may have `halves`"


def _too_many(groups: Sequence[OptionGroup], menu: _Menu) -> Iterator[Note]:
    total = 0
    for g, group in enumerate(groups):
        for inner in with_nested(group, menu):
            total += len(inner.options)
            way = inner.id.split(_UNDER)
            if len(way) // 2 >= LEVELS:
                o = [option.id for option in group.options].index(way[1])
                yield f"/option_groups/{g}/options/{o}", f"opens groups over {LEVELS} levels deep"
                break
            if total > MAX_NESTED:
                yield "/option_groups", f"has over {MAX_NESTED} options with those inside options"
                return
