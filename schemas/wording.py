"""How amounts, options and the customer's words are written for people, on a terminal and on a page."""

from __future__ import annotations

from schemas.cart import Amount, CartOption, HeardSpan

# ISO 4217 currencies that do not have two decimals.
_DECIMALS = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩"}
_AMOUNT_WORDS = {Amount.NONE: "no ", Amount.LIGHT: "light ", Amount.NORMAL: "", Amount.EXTRA: "extra "}


def money(minor: int, currency: str) -> str:
    """An amount in minor units as people write it: `$4.50`, `¥450`, `4.50 CHF`."""
    decimals = _DECIMALS.get(currency, 2)
    whole, part = divmod(abs(minor), 10**decimals)
    figure = f"{whole:,}" + (f".{part:0{decimals}d}" if decimals else "")
    sign = "-" if minor < 0 else ""
    return f"{sign}{_SIGNS[currency]}{figure}" if currency in _SIGNS else f"{sign}{figure} {currency}"


def heard(span: HeardSpan) -> str:
    """The customer's words with their place in the recording, in seconds."""
    if span.start_s is None or span.end_s is None:
        return f"“{span.text}”"
    return f"“{span.text}” {span.start_s:.1f}–{span.end_s:.1f} s"


def option(chosen: CartOption, currency: str) -> str:
    count = f"{chosen.count} × " if chosen.count > 1 else ""
    price = f" (+{money(chosen.price, currency)})" if chosen.price else ""
    return f"{count}{_AMOUNT_WORDS[chosen.amount]}{chosen.name}{price}"
