"""Price: the draft joined with the menu's names and prices. The menu alone knows a price.

Every amount is an integer in minor units; `charges.py` says what options cost, `taxes.py` what tax there is.
While a size or a required option is open, a line costs the least that any answer makes of it, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.cart import (
    Cart,
    CartDraft,
    CartLine,
    CartOption,
    Finding,
    ItemLine,
    LineDraft,
    MenuRef,
    OptionDraft,
)
from schemas.menu import Item, Menu, OptionGroup
from schemas.transcript import Transcript
from services.validation.charges import charges
from services.validation.heard_words import notes_of, span_of
from services.validation.portions import counted
from services.validation.taxes import taxes_of


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """What one of a line costs; `is_minimum` while a choice is open."""

    amount: int
    is_minimum: bool


def unit_price(line: ItemLine, item: Item, menu: Menu) -> UnitPrice:
    """The price of one `item` with the size and the options of `line`."""
    prices = {price_in(size, line, item, menu) for size in _sizes(line, item)}
    sized = line.size is None or not item.size_ids or line.size in item.size_ids
    is_open = any(open_groups(line, item, menu))
    return UnitPrice(min(prices), is_minimum=is_open or not sized or len(prices) > 1)


def price_in(size: str | None, line: ItemLine, item: Item, menu: Menu) -> int:
    """What one of a line costs in a size of its item. Open choices are made with the cheapest."""
    base = (item.prices or {})[size] if size is not None else item.price or 0
    filled = (*line.options, *_cheapest(size, line, item, menu))
    return base + sum(charges(filled, menu.groups_of(item), size))


def _sizes(line: ItemLine, item: Item) -> tuple[str | None, ...]:
    """The sizes that a line may be in: its own, its item's default, or any."""
    size = line.size or item.default_size
    if not item.size_ids:
        return (None,)
    return (size,) if size in item.size_ids else item.size_ids


def _cheapest(size: str | None, line: ItemLine, item: Item, menu: Menu) -> Iterator[OptionDraft]:
    for group in open_groups(line, item, menu):
        ways = [option for option in group.options if option.available and option.id not in group.defaults]
        if ways:
            cheapest = min(ways, key=lambda option: option.price_in(size))
            missing = group.least - counted(line, group)
            yield OptionDraft(group=group.id, id=cheapest.id, count=missing)


def open_groups(line: ItemLine, item: Item, menu: Menu) -> Iterator[OptionGroup]:
    """The option groups of which more has to be chosen."""
    for group in menu.groups_of(item):
        if counted(line, group) < group.least:
            yield group


def price_cart(
    draft: CartDraft,
    menu: Menu,
    menu_version: int,
    transcript: Transcript,
    findings: list[Finding],
) -> Cart:
    """Price every line; a line that the menu can't price (it has a blocking finding) costs 0."""
    lines = [
        _line(line, menu, transcript, [f for f in findings if f.line == index])
        for index, line in enumerate(draft.lines)
    ]
    subtotal, taxes = sum(line.line_total for line in lines), taxes_of(lines, menu)
    return Cart(
        currency=menu.currency,
        menu=MenuRef(id=menu.id, version=menu_version),
        lines=lines,
        notes=notes_of(draft, transcript),
        subtotal=subtotal,
        taxes=taxes,
        total=subtotal + sum(tax.amount for tax in taxes if not tax.included),
        total_is_minimum=any(line.price_is_minimum for line in lines),
    )


def _line(line: LineDraft, menu: Menu, transcript: Transcript, findings: list[Finding]) -> CartLine:
    words = transcript.words_of(line.heard)
    heard = span_of(line.heard, transcript)
    # Where the words have no probabilities of their own, the transcript's confidence stands for them.
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
        ref=item.ref,
        size_ref=size.ref if size else None,
    )


def _options(line: ItemLine, item: Item, menu: Menu) -> list[CartOption]:
    """The options of a line with what each adds to its price, in the size that the price is for."""
    groups = menu.groups_of(item)
    size = min(_sizes(line, item), key=lambda size: price_in(size, line, item, menu))
    known = {(group.id, option.id): option for group in groups for option in group.options}
    found = []
    for chosen, price in zip(line.options, charges(line.options, groups, size), strict=True):
        option = known.get((chosen.group, chosen.id))
        found.append(
            CartOption(
                **chosen.model_dump(),
                name=option.name if option else chosen.id,
                price=price,
                ref=option.ref if option else None,
            )
        )
    return found
