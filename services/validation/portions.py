"""Which option groups one line can choose of, and how much of each it has: what its customer chose, and the
defaults that they left."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Amount, CartLine, CartOption, ItemLine, OptionDraft, Portion
from schemas.menu import OptionGroup
from schemas.menus.nesting import under

Line = ItemLine | CartLine
Chosen = OptionDraft | CartOption


def open_groups(line: Line, groups: Iterable[OptionGroup]) -> list[OptionGroup]:
    """Those of an item's groups that a line can choose of: one inside an option only where it has that."""
    found: dict[str, OptionGroup] = {}
    for group in groups:
        above = under(group.id)
        if above is None or (above[0] in found and above[1] in _had(line, found[above[0]])):
            found[group.id] = group
    return list(found.values())


def _had(line: Line, group: OptionGroup) -> list[str]:
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
