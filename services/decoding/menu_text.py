"""The menu as the reader is shown it. It was trained with this: a change here asks for new training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schemas.menu import Item, Menu, Option, OptionGroup
from schemas.menus.nesting import opened, source
from schemas.writable import writable
from services.decoding.menu_names import Names

_Shape = tuple[tuple[str, ...], tuple[str, ...]]
"""Ids of an item's sizes and of its option groups."""


def menu_text(menu: Menu, names: Names, *, items: Sequence[Item] | None = None, aliases: bool = True) -> str:
    """A line for items of one shape with their sizes in brackets and groups in braces, then a line a group,
    with (one) behind it where one option excludes the others, and (halves) where it may be for one half. What
    an option opens stands behind it as behind an item.

    `items` are those to show, in that order, by default all; groups that none of them has are left out.
    """
    items = menu.items if items is None else items
    sizes = {size.id: _called(names.sizes[size.id], size.aliases if aliases else ()) for size in menu.sizes}
    groups = {group.id: writable(group.name) for group in menu.option_groups}
    lines = [
        ", ".join(called)
        + _noted("[]", map(sizes.__getitem__, own))
        + _noted("{}", map(groups.__getitem__, held))
        for (own, held), called in _by_shape(items, names, aliases).items()
    ]
    top = {group for item in items for group in item.option_groups}
    used = {source(group.id) for group in menu.nested_groups(top)}
    lines += [_group_line(group, aliases, menu, names) for group in menu.option_groups if group.id in used]
    return "\n".join(["Menu:", *lines])


def _by_shape(items: Sequence[Item], names: Names, aliases: bool) -> dict[_Shape, list[str]]:
    """Names of the items that have the same sizes and groups, in their order."""
    shapes: dict[_Shape, list[str]] = {}
    for item in items:
        called = _called(names.items[item.sku], item.aliases if aliases else ())
        shapes.setdefault((item.size_ids, item.option_groups), []).append(called)
    return shapes


def _noted(brackets: str, called: Iterable[str]) -> str:
    held = ", ".join(called)
    return f" {brackets[0]}{held}{brackets[1]}" if held else ""


def _group_line(group: OptionGroup, aliases: bool, menu: Menu, names: Names) -> str:
    marks = [mark for mark, holds in (("one", group.choose == "one"), ("halves", group.halves)) if holds]
    noted = f" ({', '.join(marks)})" if marks else ""
    called = (
        _called(writable(o.name), o.aliases if aliases else ()) + _opened(o, menu, names)
        for o in group.options
    )
    return f"{writable(group.name)}{noted}: {', '.join(called)}"


def _opened(option: Option, menu: Menu, names: Names) -> str:
    item = menu.item(option.item) if option.item else None
    sizes = item.size_ids if item and len(item.size_ids) > 1 else ()
    groups = (writable(group.name) for group in opened(option, menu))
    return _noted("[]", map(names.sizes.__getitem__, sizes)) + _noted("{}", groups)


def _called(name: str, aliases: Iterable[str]) -> str:
    return " = ".join([name, *map(writable, aliases)])
