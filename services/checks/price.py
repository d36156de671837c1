"""Price: the draft joined with the menu's names and prices. The menu alone knows a price.

Every amount is an integer in minor units. An option costs its price times its count; `none` costs
nothing, `light` and `normal` once, `extra` twice, as an extra portion is a second portion.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from schemas.cart import (
    Amount,
    Cart,
    CartDraft,
    CartLine,
    CartOption,
    Finding,
    HeardSpan,
    ItemLine,
    LineDraft,
    MenuRef,
    OptionDraft,
)
from schemas.menu import Item, Menu
from schemas.transcript import Transcript

PORTIONS = {Amount.NONE: 0, Amount.LIGHT: 1, Amount.NORMAL: 1, Amount.EXTRA: 2}


def price_cart(
    draft: CartDraft,
    menu: Menu,
    menu_version: int,
    transcript: Transcript,
    findings: list[Finding],
    fields: Sequence[Mapping[str, float]] = (),
) -> Cart:
    """Price every line; a line that the menu can't price (it has a blocking finding) costs 0. `fields` has
    the confidences of each line's fields, where a machine drafted it."""
    lines = [
        _line(line, menu, transcript, [f for f in findings if f.line == index])
        for index, line in enumerate(draft.lines)
    ]
    for line, sure in zip(lines, fields, strict=False):
        line.field_confidence = dict(sure)
        line.confidence = min(sure.values(), default=line.confidence)
    return Cart(
        currency=menu.currency,
        menu=MenuRef(id=menu.id, version=menu_version),
        lines=lines,
        total=sum(line.line_total for line in lines),
    )


def _line(line: LineDraft, menu: Menu, transcript: Transcript, findings: list[Finding]) -> CartLine:
    words = transcript.words_of(line.heard)
    heard = HeardSpan(
        text=line.heard,
        start_s=words[0].start_s if words else None,
        end_s=words[-1].end_s if words else None,
    )
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
            confidence=mean,
            findings=findings,
        )
    size = line.size or item.default_size
    options = [_option(option, item, menu) for option in line.options]
    unit = _base(item, size) + sum(option.price for option in options)
    return CartLine(
        kind="item",
        heard=heard,
        sku=item.sku,
        name=item.name,
        quantity=line.quantity,
        size=size,
        options=options,
        unit_price=unit,
        line_total=unit * line.quantity,
        confidence=mean,
        findings=findings,
    )


def _base(item: Item, size: str | None) -> int:
    if item.prices is None:
        return item.price or 0
    if size is not None:
        return item.prices.get(size, 0)
    # An unsaid size has a price only where it makes no difference.
    amounts = set(item.prices.values())
    return amounts.pop() if len(amounts) == 1 else 0


def _option(option: OptionDraft, item: Item, menu: Menu) -> CartOption:
    group = menu.group(option.group) if option.group in item.option_groups else None
    known = next((o for o in group.options if o.id == option.id), None) if group else None
    return CartOption(
        group=option.group,
        id=option.id,
        name=known.name if known else option.id,
        amount=option.amount,
        count=option.count,
        price=known.price * option.count * PORTIONS[option.amount] if known else 0,
    )
