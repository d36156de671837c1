"""How much of an option group one line has: what its customer chose, and the defaults that they left."""

from __future__ import annotations

from collections.abc import Iterable

from schemas.cart import Amount, ItemLine, OptionDraft, Portion
from schemas.menu import OptionGroup


def chosen_of(line: ItemLine, group: OptionGroup) -> list[OptionDraft]:
    """What is chosen of a group; "no sauce" chooses none."""
    return [o for o in line.options if o.group == group.id and o.amount is not Amount.NONE]


def by_half(options: Iterable[OptionDraft]) -> tuple[list[OptionDraft], list[OptionDraft]]:
    """The options that are on the half named first, and those on the other; on both, those of the whole."""
    chosen = list(options)
    return (
        [option for option in chosen if option.portion is not Portion.RIGHT],
        [option for option in chosen if option.portion is not Portion.LEFT],
    )


def kept_defaults(line: ItemLine, group: OptionGroup) -> list[str]:
    """Ids of the defaults that the customer did not speak of, without those that are sold out. Where one
    option excludes the others, a chosen one takes the default's place."""
    if group.choose == "one" and chosen_of(line, group):
        return []
    named = {option.id for option in line.options if option.group == group.id}
    return [o.id for o in group.options if o.id in group.defaults and o.available and o.id not in named]


def counted(line: ItemLine, group: OptionGroup) -> int:
    """Portions of a group on the fuller half of a line, defaults with them."""
    halves = by_half(chosen_of(line, group))
    return max(sum(option.count for option in half) for half in halves) + len(kept_defaults(line, group))
