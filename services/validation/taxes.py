"""Taxes of a cart, one amount for each class that its items have.

A class is rounded once, on the sum of its lines: to the nearest minor unit, and a half up. A tax that prices
have included is the part of them that is tax.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from fractions import Fraction

from schemas.cart import CartLine, CartTax
from schemas.menu import Menu


def taxes_of(lines: Iterable[CartLine], menu: Menu) -> list[CartTax]:
    """The taxes of priced lines, in the menu's order."""
    if not menu.taxes:
        return []
    sums: Counter[str] = Counter()
    for line in lines:
        item = menu.item(line.sku) if line.sku is not None else None
        if item is not None and item.tax is not None:
            sums[item.tax] += line.line_total
    return [
        CartTax(
            id=tax.id,
            name=tax.name,
            rate=tax.percent,
            included=tax.included,
            amount=_rounded(sums[tax.id] * (tax.share / (1 + tax.share) if tax.included else tax.share)),
            ref=tax.ref,
        )
        for tax in menu.taxes
        if tax.id in sums
    ]


def _rounded(amount: Fraction) -> int:
    return (2 * amount.numerator + amount.denominator) // (2 * amount.denominator)
