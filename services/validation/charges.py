"""Calculate what a line's options add to the price of one item.

A portion costs the option's price in the item's size. `none` is free, `light` and `normal` count once,
`extra` twice, unless the menu prices these amounts. On one half an option costs half, rounded half up per
option and single item. One portion of a default is free, and so are the cheapest other portions, up to the
group's `free`; of an extra portion only the plain part is.

Nested options are charged for each portion of the option above, in the size of the item that contains them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from schemas.cart import Amount, OptionDraft, Portion
from schemas.menu import Option, OptionGroup
from schemas.menus.nesting import sizes_under, under

_TIMES = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


def charges(options: Sequence[OptionDraft], groups: Sequence[OptionGroup], size: str | None) -> list[int]:
    """Return what each option adds to the price of an item of this size; 0 if not in `groups`."""
    known = {(group.id, option.id): option for group in groups for option in group.options}
    sizes = {group.id: size_of(group.id, options, groups, size) for group in groups}
    saved = Counter(
        {index: less for group in groups for index, less in _saved(options, group, sizes[group.id])}
    )
    return [
        _charge(chosen, known.get((chosen.group, chosen.id)), sizes.get(chosen.group), saved[index])
        * _times(chosen.group, options)
        for index, chosen in enumerate(options)
    ]


def size_of(
    group_id: str, options: Sequence[OptionDraft], groups: Sequence[OptionGroup], size: str | None
) -> str | None:
    """Return the size that determines a group's prices: that of the item it is nested in, or the line's
    `size`; None while that is open."""
    if (above := under(group_id)) is None:
        return size
    sizes = next((group for group in groups if group.id == sizes_under(*above)), None)
    if sizes is None:
        return size_of(above[0], options, groups, size)
    chosen = (one.id for one in options if one.group == sizes.id and one.amount is not Amount.NONE)
    return next(chosen, next(iter(sizes.defaults), None))


def _times(group_id: str, options: Sequence[OptionDraft]) -> int:
    """Return how many portions of the options above a group there are."""
    if (above := under(group_id)) is None:
        return 1
    chosen = (one for one in options if (one.group, one.id) == above and one.amount is not Amount.NONE)
    count = sum(one.count for one in chosen) or 1  # a default counts once
    return count * _times(above[0], options)


def _charge(chosen: OptionDraft, option: Option | None, size: str | None, saved: int) -> int:
    if option is None:
        return 0
    full = _each(chosen, option, size) * chosen.count - saved
    return full if chosen.portion is Portion.WHOLE else (full + 1) // 2


def _each(chosen: OptionDraft, option: Option, size: str | None) -> int:
    for amount, price in option.amount_prices.items():
        if amount == chosen.amount:
            return price
    return option.price_in(size) * _TIMES[chosen.amount]


def _saved(options: Sequence[OptionDraft], group: OptionGroup, size: str | None) -> Iterator[tuple[int, int]]:
    """Yield (index, saving before halving) of options that are partly free."""
    known = {option.id: option for option in group.options}
    free = group.free
    candidates = []
    for index, one in enumerate(options):
        if one.group == group.id and one.id in known and one.amount is not Amount.NONE:
            worth = min(known[one.id].price_in(size), _each(one, known[one.id], size))
            whole = 2 if one.portion is Portion.WHOLE else 1
            candidates.append((worth * whole, one.id, one.portion, one.amount, one.count, index, worth))
    for _, option_id, _, _, count, index, worth in sorted(candidates):
        included = int(option_id in group.defaults)
        cheapest = min(free, count - included)
        free -= cheapest
        yield index, worth * (included + cheapest)
