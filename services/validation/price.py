"""Price a draft from its menu, the only source of prices.

Amounts are integers in minor units; `charges.py` prices options. An included tax is part of prices.

While a size, a required option or the place of an option is open, a line has its lowest possible price, and
says so.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from schemas.cart import CartDraft, ItemLine, LineDraft, OptionDraft
from schemas.menu import Item, Menu, Option, OptionGroup
from schemas.menus.nesting import is_within, sizes_under, source, under
from schemas.priced_cart import Cart, CartLine, CartOption, CartTax, Finding, MenuRef, OptionRef
from schemas.transcript import Transcript
from services.validation.alignment import notes_of, span_of
from services.validation.charges import charges, size_of
from services.validation.portions import counted, had, open_groups


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """The price of one of a line; `is_minimum` while a choice is open."""

    amount: int
    is_minimum: bool


def unit_price(line: ItemLine, item: Item, menu: Menu) -> UnitPrice:
    """Return the price of one `item` with the size and options of `line`."""
    prices = {price_in(size, line, item, menu) for size in _sizes(line, item)}
    sized = line.size is None or not item.size_ids or line.size in item.size_ids
    groups = open_groups(line, menu.groups_of(item))
    known = {group.id for group in groups}
    adrift = any(under(option.group) and option.group not in known for option in line.options)
    is_open = adrift or any(counted(line, group) < group.least for group in groups)
    return UnitPrice(min(prices), is_minimum=is_open or not sized or len(prices) > 1)


def price_in(size: str | None, line: ItemLine, item: Item, menu: Menu) -> int:
    """Return the price of one of a line in a size of its item, with the cheapest answers to open choices."""
    base = (item.prices or {})[size] if size is not None else item.price or 0
    groups = menu.groups_of(item)
    return base + _charged(size, _filled(size, line, groups), groups)


def _charged(size: str | None, line: ItemLine, groups: Sequence[OptionGroup]) -> int:
    return sum(charges(line.options, open_groups(line, groups), size))


def _sizes(line: ItemLine, item: Item) -> tuple[str | None, ...]:
    """Return the possible sizes of a line: its own, its item's default, or any."""
    size = line.size or item.default_size
    if not item.size_ids:
        return (None,)
    return (size,) if size in item.size_ids else item.size_ids


def _filled(size: str | None, line: ItemLine, groups: Sequence[OptionGroup], within: str = "") -> ItemLine:
    """Return the line with the cheapest answers to its open choices, if given only those nested `within` a
    path."""
    is_open = open_groups(line, groups)
    # Sizes first, since prices depend on them; then from the inside out, since one more portion of an option
    # repeats everything nested in it.
    for group in sorted(reversed(is_open), key=lambda group: bool(source(group.id))):
        missing = group.least - counted(line, group)
        if missing <= 0 or not is_within(group.id, within):
            continue
        size_there = size_of(group.id, line.options, is_open, size)
        tried = [
            _filled(size, _with(line, group, option, missing), groups, _reach(group, option))
            for option in _cheapest(group, size_there)
        ]
        line = min(tried, key=lambda one: _charged(size, one, groups), default=line)
    return line


def _cheapest(group: OptionGroup, size: str | None) -> list[Option]:
    """Return the options of which one is cheapest: all of them if they open choices or determine prices."""
    options = [option for option in group.options if option.available and option.id not in group.defaults]
    if not source(group.id) or any(option.item or option.option_groups for option in options):
        return options
    return [min(options, key=lambda option: option.price_in(size))] if options else []


def _reach(group: OptionGroup, option: Option) -> str:
    """Return the path of the choices whose lowest price depends on an option: for a size, also its
    siblings'."""
    return sizes_under(group.id, option.id) if source(group.id) else group.id


def _with(line: ItemLine, group: OptionGroup, option: Option, count: int) -> ItemLine:
    more = OptionDraft(group=group.id, id=option.id, count=count)
    return line.model_copy(update={"options": (*line.options, more)})


def price_cart(
    draft: CartDraft,
    menu: Menu,
    menu_version: int,
    transcript: Transcript,
    findings: list[Finding],
) -> Cart:
    """Return the priced cart; a line that the menu can't price (it has a blocking finding) costs 0."""
    lines = [
        _line(line, menu, transcript, [f for f in findings if f.line == index])
        for index, line in enumerate(draft.lines)
    ]
    taxes = taxes_on(lines, menu)
    return Cart(
        currency=menu.currency,
        menu=MenuRef(id=menu.id, version=menu_version),
        lines=lines,
        notes=notes_of(draft, transcript),
        subtotal=sum(line.line_total for line in lines),
        taxes=taxes,
        total=total_of(lines, taxes),
        total_is_minimum=any(line.price_is_minimum for line in lines if line.kind == "item"),
    )


def total_of(lines: Iterable[CartLine], taxes: Iterable[CartTax]) -> int:
    return sum(line.line_total for line in lines) + sum(tax.amount for tax in taxes if not tax.included)


def taxes_on(lines: Iterable[CartLine], menu: Menu) -> list[CartTax]:
    """Return the taxes of priced lines, in the menu's order."""
    prices = defaultdict[str, list[int]](list)
    for line in lines:
        item = menu.item(line.sku) if line.sku is not None else None
        if item is not None and item.tax is not None:
            prices[item.tax].append(line.line_total)
    return [
        CartTax(
            id=tax.id,
            name=tax.name,
            rate=tax.percent,
            included=tax.included,
            amount=tax.on(prices[tax.id]),
            ref=tax.ref,
        )
        for tax in menu.taxes
        if tax.id in prices
    ]


def _line(line: LineDraft, menu: Menu, transcript: Transcript, findings: list[Finding]) -> CartLine:
    words = transcript.words_of(line.heard)
    heard = span_of(line.heard, transcript)
    total = sum(word.probability for word in words)
    mean = round(total / len(words), 4) if words else transcript.confidence
    item = menu.item(line.sku) if isinstance(line, ItemLine) else None
    if not isinstance(line, ItemLine) or item is None:
        return CartLine(
            kind=line.kind,
            heard=heard,
            sku=line.sku if isinstance(line, ItemLine) else None,
            name=line.heard,
            quantity=line.quantity,
            price_is_minimum=True,
            confidence=mean,
            findings=findings,
        )
    unit = unit_price(line, item, menu)
    size = menu.size(line.size or item.default_size or "")
    return CartLine(
        kind="item",
        heard=heard,
        sku=item.sku,
        name=item.name,
        quantity=line.quantity,
        size=line.size or item.default_size,
        size_name=size.name if size else None,
        options=_options(line, item, menu),
        unit_price=unit.amount,
        line_total=unit.amount * line.quantity,
        price_is_minimum=unit.is_minimum,
        confidence=mean,
        findings=findings,
        allergens=_allergens(line, item, menu),
        ref=item.ref,
        size_ref=item.size_refs.get(size.id, size.ref) if size else None,
    )


def _allergens(line: ItemLine, item: Item, menu: Menu) -> list[str]:
    """Return the allergens of a line's item and of the items among its options."""
    groups = open_groups(line, menu.groups_of(item))
    items = [menu.item(o.item) for g in groups for o in g.options if o.item and o.id in had(line, g)]
    return list(dict.fromkeys(name for one in (item, *items) if one for name in one.allergens))


def _options(line: ItemLine, item: Item, menu: Menu) -> list[CartOption]:
    """Return a line's options, nested ones after the option above, with their prices in the line's size."""
    groups = open_groups(line, menu.groups_of(item))
    size = min(_sizes(line, item), key=lambda size: price_in(size, line, item, menu))
    known = {(group.id, option.id): option for group in groups for option in group.options}
    result = []
    prices = charges(line.options, groups, size)
    for index in _in_order(line.options):
        chosen = line.options[index]
        option, above = known.get((chosen.group, chosen.id)), under(chosen.group)
        result.append(
            CartOption(
                **chosen.model_dump(),
                name=menu.option_name(chosen.group, chosen.id),
                price=prices[index],
                ref=option.ref if option else None,
                under=OptionRef(group=above[0], id=above[1]) if above and above[1] else None,
            )
        )
    return result


def _in_order(options: Sequence[OptionDraft]) -> list[int]:
    """Return the indices of the options, each followed by those nested in it; orphans come last."""
    first = {(option.group, option.id): index for index, option in reversed(list(enumerate(options)))}

    def path(index: int) -> tuple[int, ...]:
        above = under(options[index].group)
        if above is None:
            return (index,)
        return (*path(first[above]), index) if above in first else (len(options), index)

    return sorted(range(len(options)), key=path)
