"""Nested options: what an option opens, such as the size and ice of a meal's drink.

All groups of an item form one flat list. A nested group's id is its path: `drink>cola>ice` is the group `ice`
under the option `cola` of the group `drink`; `drink>cola` holds the sizes of that option's item. A nested
group is open while a line has the option above it. Menu ids can't contain `>`.

While the option above isn't known, the path begins with empty names: `>>ice`, or `>` for a size.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Protocol

from schemas.menus.checks import Note, repeated
from schemas.menus.parts import Item, Option, OptionGroup, Size
from schemas.sentences.sentences import sentences

LEVELS = 3
MAX_NESTED = 20_000
"""Options of all groups, counted once per path."""
_UNDER = ">"


class _Menu(Protocol):
    @property
    def language(self) -> str: ...
    @property
    def sizes(self) -> tuple[Size, ...]: ...
    def item(self, sku: str) -> Item | None: ...
    def group(self, group_id: str) -> OptionGroup | None: ...


def under(group_id: str) -> tuple[str, str] | None:
    """Return the group and id of the option above a nested group: both empty while unknown, None for a group
    that isn't nested."""
    *above, last = group_id.split(_UNDER)
    if not above:
        return None
    *group, option = above if len(above) % 2 == 0 else [*above, last]
    return _UNDER.join(group), option


def source(group_id: str) -> str:
    """Return a group's id in the document; empty for the sizes of an item."""
    path = group_id.split(_UNDER)
    return path[-1] if len(path) % 2 else ""


def sizes_under(group_id: str, option_id: str) -> str:
    """Return the id of the group of an option's sizes, which is the path of groups nested under it."""
    return f"{group_id}{_UNDER}{option_id}"


def is_within(group_id: str, path: str) -> bool:
    """Return True if a group is at or below a path; the empty path contains all."""
    return not path or f"{group_id}{_UNDER}".startswith(f"{path}{_UNDER}")


def unplaced(group_id: str) -> str:
    """Return the id of a nested group while the option above it is unknown."""
    return f"{_UNDER}{_UNDER}{source(group_id)}" if source(group_id) else _UNDER


def with_nested(group: OptionGroup, menu: _Menu, fixed: str | None = None) -> Iterator[OptionGroup]:
    """Yield a group, then the groups that its options open, depth first.

    `fixed` is the only size of the group's item, empty for an item without sizes; None if the size is the
    line's, or is chosen.
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
    """Return the groups that an option opens, from the document or its item."""
    item = menu.item(option.item) if option.item else None
    groups = map(menu.group, option.option_groups if item is None else item.option_groups)
    return [one if item is None else item.own(one) for one in groups if one is not None]


def _as_here(option: Option, menu: _Menu, fixed: str | None) -> Option:
    """Return an option with its price in the fixed size, and the ref and availability of its item."""
    if fixed is not None:
        option = option.model_copy(update={"price": option.price_in(fixed), "prices": {}})
    item = menu.item(option.item) if option.item else None
    if item is None:
        return option
    option = option.model_copy(update={"ref": option.ref or item.ref})
    return option if item.available else option.gone(closed=item.closed)


def _sizes(group: OptionGroup, option: Option, item: Item, menu: _Menu) -> Iterator[OptionGroup]:
    """Yield a group of the sizes of an option's item. The option's price includes the default or cheapest
    size; others cost the difference."""
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
    """Yield problems of options' references: to nothing, too deep, or too many."""
    problems = [
        note
        for g, group in enumerate(groups)
        for o, option in enumerate(group.options)
        for note in _led_nowhere(group, option, f"/option_groups/{g}/options/{o}", menu)
    ]
    yield from problems or _too_many(groups, menu)


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
            path = inner.id.split(_UNDER)
            if len(path) // 2 >= LEVELS:
                o = [option.id for option in group.options].index(path[1])
                yield f"/option_groups/{g}/options/{o}", f"opens groups over {LEVELS} levels deep"
                break
            if total > MAX_NESTED:
                yield "/option_groups", f"has over {MAX_NESTED} options with those inside options"
                return
