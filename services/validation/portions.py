"""The option groups open to a line, the portions it has of each, and the place of nested options.

The model writes options by name alone, so "large" may be the size of any drink that comes with a meal. It is
placed under the only drink that the line has. If two or none fit, it stays unplaced: a doubt
(`option_unclear` in `facts.py`), never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Amount, CartDraft, ItemLine, OptionDraft, Portion
from schemas.menu import Item, Menu, OptionGroup
from schemas.menus.nesting import LEVELS, under, unplaced
from schemas.priced_cart import CartLine, CartOption

AnyLine = ItemLine | CartLine
AnyOption = OptionDraft | CartOption


def open_groups(line: AnyLine, groups: Iterable[OptionGroup]) -> list[OptionGroup]:
    """Return the groups a line can choose from; nested ones only if the line has the option above."""
    result: dict[str, OptionGroup] = {}
    for group in groups:
        above = under(group.id)
        if above is None or (above[0] in result and above[1] in had(line, result[above[0]])):
            result[group.id] = group
    return list(result.values())


def had(line: AnyLine, group: OptionGroup) -> list[str]:
    """Return the ids of a line's options in a group, chosen or by default."""
    return [*kept_defaults(line, group), *(option.id for option in chosen_of(line, group))]


def chosen_of(line: AnyLine, group: OptionGroup) -> list[AnyOption]:
    """Return the options chosen in a group; "no sauce" chooses none."""
    return [o for o in line.options if o.group == group.id and o.amount is not Amount.NONE]


def by_half(options: Iterable[AnyOption]) -> tuple[list[AnyOption], list[AnyOption]]:
    """Return the options on the first and on the second half; whole ones are on both."""
    chosen = list(options)
    return (
        [option for option in chosen if option.portion is not Portion.RIGHT],
        [option for option in chosen if option.portion is not Portion.LEFT],
    )


def kept_defaults(line: AnyLine, group: OptionGroup) -> list[str]:
    """Return the ids of available defaults that the customer didn't mention. If a group allows one option,
    the chosen one replaces the default."""
    if group.choose == "one" and chosen_of(line, group):
        return []
    named = {option.id for option in line.options if option.group == group.id}
    return [o.id for o in group.options if o.id in group.defaults and o.available and o.id not in named]


def counted(line: AnyLine, group: OptionGroup) -> int:
    """Return the portions of a group on the fuller half of a line, including defaults."""
    halves = by_half(chosen_of(line, group))
    return max(sum(option.count for option in half) for half in halves) + len(kept_defaults(line, group))


def placed(draft: CartDraft, menu: Menu) -> CartDraft:
    """Return the draft with each unplaced option in the only place where the menu allows it."""
    lines = tuple(
        placed_line(line, item, menu)
        if isinstance(line, ItemLine) and (item := menu.item(line.sku)) is not None
        else line
        for line in draft.lines
    )
    return draft.model_copy(update={"lines": lines})


def has_nested(draft: CartDraft, menu: Menu) -> bool:
    """Return True if an item of the draft has nested options."""
    items = (menu.item(line.sku) for line in draft.lines if isinstance(line, ItemLine))
    return any(under(group.id) for item in items if item for group in menu.groups_of(item))


def without_closed(line: ItemLine, menu: Menu) -> ItemLine:
    """Return the line without options nested under ones that it doesn't have. A form still sends what was
    chosen under an option that was replaced."""
    item = menu.item(line.sku)
    is_open = {group.id for group in open_groups(line, menu.groups_of(item))} if item else set()
    kept = tuple(one for one in line.options if under(one.group) is None or one.group in is_open)
    return line.model_copy(update={"options": kept})


def placed_line(line: ItemLine, item: Item, menu: Menu) -> ItemLine:
    """Return the line with its unplaced options placed (see `placed`)."""
    result = line
    if any(under(option.group) == ("", "") for option in line.options):
        for _ in range(LEVELS):  # one level per pass
            groups = open_groups(result, menu.groups_of(item))
            options = tuple(_put(option, result, groups) for option in line.options)
            result = line.model_copy(update={"options": options})
    return result


def _put(option: OptionDraft, line: ItemLine, groups: list[OptionGroup]) -> OptionDraft:
    if under(option.group) != ("", ""):
        return option
    homes = [
        group.id
        for group in groups
        if unplaced(group.id) == option.group and option.id in {known.id for known in group.options}
    ]
    # Prefer a place under a chosen option to one under a default.
    chosen = {(one.group, one.id) for group in groups for one in chosen_of(line, group)}
    homes = [home for home in homes if (under(home) or ("", "")) in chosen | {("", "")}] or homes
    return option.model_copy(update={"group": homes[0]}) if len(homes) == 1 else option
