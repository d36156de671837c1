"""What a line's options add to the price of one item.

A portion costs the option's price in the item's size; `none` costs nothing, `light` and `normal` once,
`extra` twice, as an extra portion is a second portion, unless the menu has prices of their own for these. On
one half of an item it costs half of that, rounded half up for each option and each single item. A default
costs nothing once, and of a group's other portions the cheapest are free, as many as the menu says; of an
extra portion only the plain one is.

What is chosen inside an option is for each portion of it, in the size of the item that it is inside of.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from schemas.cart import Amount, OptionDraft, Portion
from schemas.menu import Option, OptionGroup
from schemas.menus.nesting import sizes_under, under

_TIMES = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


def charges(options: Sequence[OptionDraft], groups: Sequence[OptionGroup], size: str | None) -> list[int]:
    """What each of the options adds to an item of this size with these open groups; 0 for one that it
    lacks."""
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
    """The size that prices of a group go by: that of the nearest item that it is inside of, or else the
    line's `size`; None while it is open."""
    if (above := under(group_id)) is None:
        return size
    sizes = next((group for group in groups if group.id == sizes_under(*above)), None)
    if sizes is None:
        return size_of(above[0], options, groups, size)
    chosen = (one.id for one in options if one.group == sizes.id and one.amount is not Amount.NONE)
    return next(chosen, next(iter(sizes.defaults), None))


def _times(group_id: str, options: Sequence[OptionDraft]) -> int:
    """Portions of the option that a group is under, and of those that this one is."""
    if (above := under(group_id)) is None:
        return 1
    chosen = (one for one in options if (one.group, one.id) == above and one.amount is not Amount.NONE)
    count = sum(one.count for one in chosen) or 1  # one that comes by default is there once
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
    """Which of the options are free in part, by index, and how much that saves before halves are taken."""
    known = {option.id: option for option in group.options}
    free = group.free
    found = []
    for index, one in enumerate(options):
        if one.group == group.id and one.id in known and one.amount is not Amount.NONE:
            worth = min(known[one.id].price_in(size), _each(one, known[one.id], size))
            whole = 2 if one.portion is Portion.WHOLE else 1
            found.append((worth * whole, one.id, one.portion, one.amount, one.count, index, worth))
    for _, option_id, _, _, count, index, worth in sorted(found):
        included = int(option_id in group.defaults)
        cheapest = min(free, count - included)
        free -= cheapest
        yield index, worth * (included + cheapest)
