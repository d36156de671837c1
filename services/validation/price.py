"""Price: the draft joined with the menu's names and prices. The menu alone knows a price.

Every amount is an integer in minor units. An option costs its price times its count; `none` costs
nothing, `light` and `normal` once, `extra` twice, as an extra portion is a second portion. On one half of an
item it costs half of that, rounded half up for each option and each single item. While a size or a
required option is open, a line costs the least that any answer makes of it, and says so.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from schemas.cart import (
    Amount,
    Cart,
    CartDraft,
    CartLine,
    CartOption,
    Finding,
    ItemLine,
    LineDraft,
    MenuRef,
    OptionDraft,
    Portion,
)
from schemas.menu import Item, Menu, OptionGroup
from schemas.transcript import Transcript
from services.validation.heard_words import notes_of, span_of

TIMES = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


@dataclass(frozen=True, slots=True)
class UnitPrice:
    """What one of a line costs; `is_minimum` while a choice is open."""

    amount: int
    is_minimum: bool


def unit_price(line: ItemLine, item: Item, menu: Menu) -> UnitPrice:
    """The price of one `item` with the size and the options of `line`."""
    base = _base(item, line.size or item.default_size)
    chosen = sum(_option(option, item, menu).price for option in line.options)
    least = [
        min((option.price for option in group.options if option.available), default=0)
        for group in open_groups(line, item, menu)
    ]
    return UnitPrice(base.amount + chosen + sum(least), base.is_minimum or bool(least))


def open_groups(line: ItemLine, item: Item, menu: Menu) -> Iterator[OptionGroup]:
    """The option groups of which something has to be chosen and nothing is."""
    for group in filter(None, map(menu.group, item.option_groups)):
        if group.required and not chosen_of(line, group):
            yield group


def chosen_of(line: ItemLine, group: OptionGroup) -> list[OptionDraft]:
    """What is chosen of a group; "no sauce" chooses none."""
    return [o for o in line.options if o.group == group.id and o.amount is not Amount.NONE]


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
    return Cart(
        currency=menu.currency,
        menu=MenuRef(id=menu.id, version=menu_version),
        lines=lines,
        notes=notes_of(draft, transcript),
        total=sum(line.line_total for line in lines),
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
    return CartLine(
        kind="item",
        heard=heard,
        sku=item.sku,
        name=item.name,
        quantity=line.quantity,
        size=line.size or item.default_size,
        options=[_option(option, item, menu) for option in line.options],
        unit_price=unit.amount,
        line_total=unit.amount * line.quantity,
        price_is_minimum=unit.is_minimum,
        confidence=mean,
        findings=findings,
    )


def _base(item: Item, size: str | None) -> UnitPrice:
    if item.prices is None:
        return UnitPrice(item.price or 0, is_minimum=False)
    if size in item.prices:
        return UnitPrice(item.prices[size], is_minimum=False)
    amounts = set(item.prices.values())
    return UnitPrice(min(amounts), is_minimum=size is not None or len(amounts) > 1)


def _option(option: OptionDraft, item: Item, menu: Menu) -> CartOption:
    group = menu.group(option.group) if option.group in item.option_groups else None
    known = next((o for o in group.options if o.id == option.id), None) if group else None
    return CartOption(
        group=option.group,
        id=option.id,
        name=known.name if known else option.id,
        amount=option.amount,
        count=option.count,
        portion=option.portion,
        price=_option_price(option, known.price) if known else 0,
    )


def _option_price(option: OptionDraft, price: int) -> int:
    full = price * option.count * TIMES[option.amount]
    return full if option.portion is Portion.WHOLE else (full + 1) // 2
