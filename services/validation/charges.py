"""What a line's options add to the price of one item.

A portion costs the option's price in the item's size; `none` costs nothing, `light` and `normal` once,
`extra` twice, as an extra portion is a second portion, unless the menu has prices of their own for these. On
one half of an item it costs half of that, rounded half up for each option and each single item. A default
costs nothing once, and of a group's other portions the cheapest are free, as many as the menu says; of an
extra portion only the plain one is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from schemas.cart import Amount, OptionDraft, Portion
from schemas.menu import Option, OptionGroup

_TIMES = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


def charges(options: Sequence[OptionDraft], groups: Sequence[OptionGroup], size: str | None) -> list[int]:
    """What each of the options adds to an item of this size with these groups; 0 for one that it lacks."""
    known = {(group.id, option.id): option for group in groups for option in group.options}
    saved = Counter({index: less for group in groups for index, less in _saved(options, group, size)})
    return [
        _charge(chosen, known.get((chosen.group, chosen.id)), size, saved[index])
        for index, chosen in enumerate(options)
    ]


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
