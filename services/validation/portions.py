"""Which option groups one line can choose of, how much of each it has (what its customer chose, and the
defaults that they left), and under which option each option inside another belongs.

A cart is written with the names of options alone, so "large" may be the size of any drink that a meal comes
with. It goes to the one drink that the line has. Where it could go to two, or to none, it stays without a
place: a doubt (`option_unclear` in `facts.py`), never a guess.
"""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Amount, CartDraft, ItemLine, OptionDraft, Portion
from schemas.menu import Item, Menu, OptionGroup
from schemas.menus.nesting import LEVELS, under, unplaced
from schemas.priced_cart import CartLine, CartOption

Line = ItemLine | CartLine
Chosen = OptionDraft | CartOption


def open_groups(line: Line, groups: Iterable[OptionGroup]) -> list[OptionGroup]:
    """Those of an item's groups that a line can choose of: one inside an option only where it has that."""
    found: dict[str, OptionGroup] = {}
    for group in groups:
        above = under(group.id)
        if above is None or (above[0] in found and above[1] in had(line, found[above[0]])):
            found[group.id] = group
    return list(found.values())


def had(line: Line, group: OptionGroup) -> list[str]:
    """Ids of the options that a line has of a group, by default or chosen."""
    return [*kept_defaults(line, group), *(option.id for option in chosen_of(line, group))]


def chosen_of(line: Line, group: OptionGroup) -> list[Chosen]:
    """What is chosen of a group; "no sauce" chooses none."""
    return [o for o in line.options if o.group == group.id and o.amount is not Amount.NONE]


def by_half(options: Iterable[Chosen]) -> tuple[list[Chosen], list[Chosen]]:
    """The options that are on the half named first, and those on the other; on both, those of the whole."""
    chosen = list(options)
    return (
        [option for option in chosen if option.portion is not Portion.RIGHT],
        [option for option in chosen if option.portion is not Portion.LEFT],
    )


def kept_defaults(line: Line, group: OptionGroup) -> list[str]:
    """Ids of the defaults that the customer did not speak of, without those that are sold out. Where one
    option excludes the others, a chosen one takes the default's place."""
    if group.choose == "one" and chosen_of(line, group):
        return []
    named = {option.id for option in line.options if option.group == group.id}
    return [o.id for o in group.options if o.id in group.defaults and o.available and o.id not in named]


def counted(line: Line, group: OptionGroup) -> int:
    """Portions of a group on the fuller half of a line, defaults with them."""
    halves = by_half(chosen_of(line, group))
    return max(sum(option.count for option in half) for half in halves) + len(kept_defaults(line, group))


def placed(draft: CartDraft, menu: Menu) -> CartDraft:
    """Return the draft with each option that has no place yet in the only place that the menu leaves it."""
    lines = tuple(
        placed_line(line, item, menu)
        if isinstance(line, ItemLine) and (item := menu.item(line.sku)) is not None
        else line
        for line in draft.lines
    )
    return draft.model_copy(update={"lines": lines})


def has_nested(draft: CartDraft, menu: Menu) -> bool:
    """Return whether an item of the draft comes with options inside options."""
    items = (menu.item(line.sku) for line in draft.lines if isinstance(line, ItemLine))
    return any(under(group.id) for item in items if item for group in menu.groups_of(item))


def without_closed(line: ItemLine, menu: Menu) -> ItemLine:
    """Return the line without what is inside options that it doesn't have: a form still sends what was chosen
    inside an option that another took the place of."""
    item = menu.item(line.sku)
    is_open = {group.id for group in open_groups(line, menu.groups_of(item))} if item else set()
    kept = tuple(one for one in line.options if under(one.group) is None or one.group in is_open)
    return line.model_copy(update={"options": kept})


def placed_line(line: ItemLine, item: Item, menu: Menu) -> ItemLine:
    """The same for one line."""
    found = line
    if any(under(option.group) == ("", "") for option in line.options):
        for _ in range(LEVELS):  # each puts those of one more level in their places
            groups = open_groups(found, menu.groups_of(item))
            options = tuple(_put(option, found, groups) for option in line.options)
            found = line.model_copy(update={"options": options})
    return found


def _put(option: OptionDraft, line: ItemLine, groups: list[OptionGroup]) -> OptionDraft:
    if under(option.group) != ("", ""):
        return option
    homes = [
        group.id
        for group in groups
        if unplaced(group.id) == option.group and option.id in {known.id for known in group.options}
    ]
    # An option that was chosen goes before one that comes by default.
    chosen = {(one.group, one.id) for group in groups for one in chosen_of(line, group)}
    homes = [home for home in homes if (under(home) or ("", "")) in chosen | {("", "")}] or homes
    return option.model_copy(update={"group": homes[0]}) if len(homes) == 1 else option
