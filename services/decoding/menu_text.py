"""The menu as it appears in the prompt. The adapter was trained with it: after a change, train again."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from schemas.menu import Item, Menu, Option, OptionGroup, Size
from schemas.menus.nesting import opened, source
from schemas.writable import writable
from services.decoding.menu_names import Names, by_shape


def menu_text(menu: Menu, names: Names, *, items: Sequence[Item] | None = None, aliases: bool = True) -> str:
    """Return one line per shape of item, with sizes in brackets and groups in braces, then one per group.

    (one) marks a group whose options exclude each other, (halves) one whose options may be for half of the
    item. What an option opens follows it, as with an item. `items` limits the text to these, in this order,
    and to their groups.
    """
    items = menu.items if items is None else items
    sizes = {size.id: _aliased(names.sizes[size.id], size, aliases) for size in menu.sizes}
    groups = {group.id: writable(group.name) for group in menu.option_groups}
    lines = [
        ", ".join(_aliased(names.items[item.sku], item, aliases) for item in shaped)
        + _bracketed("[]", map(sizes.__getitem__, size_ids))
        + _bracketed("{}", map(groups.__getitem__, group_ids))
        for (size_ids, group_ids), shaped in by_shape(items).items()
    ]
    top = {group for item in items for group in item.option_groups}
    used = {source(group.id) for group in menu.nested_groups(top)}
    lines += [_group_line(group, aliases, menu, names) for group in menu.option_groups if group.id in used]
    return "\n".join(["Menu:", *lines])


def _bracketed(brackets: str, parts: Iterable[str]) -> str:
    inner = ", ".join(parts)
    return f" {brackets[0]}{inner}{brackets[1]}" if inner else ""


def _group_line(group: OptionGroup, aliases: bool, menu: Menu, names: Names) -> str:
    flags = [flag for flag, is_set in (("one", group.choose == "one"), ("halves", group.halves)) if is_set]
    options = (
        _aliased(writable(option.name), option, aliases) + _opened(option, menu, names)
        for option in group.options
    )
    return f"{writable(group.name)}{_bracketed('()', flags)}: {', '.join(options)}"


def _opened(option: Option, menu: Menu, names: Names) -> str:
    item = menu.item(option.item) if option.item else None
    sizes = item.size_ids if item and len(item.size_ids) > 1 else ()
    groups = (writable(group.name) for group in opened(option, menu))
    return _bracketed("[]", map(names.sizes.__getitem__, sizes)) + _bracketed("{}", groups)


def _aliased(name: str, part: Item | Option | Size, aliases: bool) -> str:
    return " = ".join([name, *map(writable, part.aliases if aliases else ())])
