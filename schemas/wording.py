"""Amounts, options and the customer's words as people read them, on a terminal and on a page.

Customers read their menu's `language`, staff read English.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from decimal import Decimal

from schemas.cart import CartDraft, Portion
from schemas.compare import LineKey, canonical_draft
from schemas.menu import Menu
from schemas.priced_cart import Cart, CartLine, CartNote, CartOption, CartTax, Finding, HeardSpan
from schemas.review import ReviewReason
from schemas.sentences.sentences import ENGLISH, Sentences, sentences

# ISO 4217 currencies that do not have two decimals.
_DECIMALS = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩"}


def decimals(currency: str) -> int:
    """Return the number of decimals of a currency."""
    return _DECIMALS.get(currency, 2)


def money(minor: int, currency: str) -> str:
    """Return an amount in minor units as people write it: `$4.50`, `¥450`, `4.50 CHF`."""
    digits = decimals(currency)
    whole, part = divmod(abs(minor), 10**digits)
    figure = f"{whole:,}" + (f".{part:0{digits}d}" if digits else "")
    sign = "-" if minor < 0 else ""
    return f"{sign}{_SIGNS[currency]}{figure}" if currency in _SIGNS else f"{sign}{figure} {currency}"


def least(minor: int, is_minimum: bool, currency: str, say: Sentences) -> str:
    """Return an amount of money, marked if it is a lower bound: `from $4.50`."""
    shown = money(minor, currency)
    return say("from_price", price=shown) if is_minimum else shown


def amount(minor: int, currency: str) -> str:
    """Return an amount for a form field: `4.50`, without sign or code."""
    return f"{Decimal(minor).scaleb(-decimals(currency)):f}"


def minor_units(text: str, currency: str) -> int:
    """Parse an amount that `amount` wrote or a person typed (`4.5`, `4,50`) into minor units.

    Raises:
        ValueError: not a number, or finer than the currency is.
    """
    try:
        value = Decimal(text.strip().replace(",", ".")).scaleb(decimals(currency))
        if value == value.to_integral_value() and value.adjusted() < 18:
            return int(value)
    except ArithmeticError:
        pass
    raise ValueError(f"{text[:20]!r} is not an amount in {currency}")


def heard(span: HeardSpan) -> str:
    """Return the customer's words with their times in the recording."""
    if span.start_s is None or span.end_s is None:
        return f"“{span.text}”"
    return f"“{span.text}” {span.start_s:.1f}–{span.end_s:.1f} s"


def option_name(chosen: CartOption, language: str = ENGLISH) -> str:
    """Return an option as text: `2 × espresso shot`, `no whipped cream`, `ham on the second half`."""
    count = f"{chosen.count} × " if chosen.count > 1 else ""
    name = sentences(language)(f"amount_{chosen.amount}", name=chosen.name)
    return _on_part(chosen.portion, f"{count}{name}", language)


def _on_part(portion: str, name: str, language: str) -> str:
    return name if portion == Portion.WHOLE else sentences(language)(f"portion_{portion}", name=name)


def option(chosen: CartOption, currency: str, language: str = ENGLISH) -> str:
    """Return `option_name` with its price."""
    price = f" (+{money(chosen.price, currency)})" if chosen.price else ""
    return f"{option_name(chosen, language)}{price}"


# Findings that name the words that were hard to hear.
_HARD_TO_HEAR = {"heard_quietly", "nothing_heard"}


def unsaid(reasons: Iterable[ReviewReason], findings: Iterable[Finding]) -> list[ReviewReason]:
    """Return the reasons that no finding explains better."""
    codes = {found.code for found in findings if found.blocks}
    return [
        cause
        for cause in reasons
        if not (codes & _HARD_TO_HEAR if cause is ReviewReason.LOW_ASR_CONFIDENCE else codes)
    ]


def doubts(
    reasons: Iterable[ReviewReason], findings: Sequence[Finding], language: str = ENGLISH
) -> list[str]:
    """Return every reason that keeps an order from being settled, as sentences for the customer."""
    messages = [sentences(language)(f"reason_{cause.value}") for cause in unsaid(reasons, findings)]
    messages += [found.message for found in findings if found.blocks]
    return list(dict.fromkeys(messages))


def line(priced: CartLine, currency: str) -> str:
    """Return a line of a cart as text: `2 × large latte, oat milk (+$0.60)`."""
    size = f"{priced.size_name} " if priced.size_name else ""
    missing = " (not on the menu)" if priced.kind == "not_on_menu" else ""
    parts = [f"{priced.quantity} × {size}{priced.name}{missing}"]
    return ", ".join(parts + [option(chosen, currency) for chosen in priced.options])


def note(one: CartNote, cart: Cart, language: str = ENGLISH) -> str:
    """Return a note as text: `Allergy: “I can't have nuts”`, or for a line `latte, how to make it: “hot”`."""
    kind = sentences(language)(f"note_{one.kind.value}")
    about = f"{cart.lines[one.line].name}, {kind}" if one.line is not None else capitalized(kind)
    return f"{about}: “{one.text}”"


def tax(one: CartTax) -> str:
    """Return a tax on a receipt, for staff: `Sales tax 8.75%`, or `VAT 10%, included`."""
    return f"{one.name} {one.rate}%{', included' if one.included else ''}"


def drafted(draft: CartDraft, menu: Menu, language: str = ENGLISH) -> str:
    """Return a draft as text, equal lines merged: `2 × large latte (oat milk); 1 × blueberry muffin`."""
    lines = canonical_draft(draft).items()
    text = "; ".join(_drafted_line(key, quantity, menu, language) for key, quantity in lines)
    return text or sentences(language)("something_else")


def _drafted_line(key: LineKey, quantity: int, menu: Menu, language: str) -> str:
    say, (_, sku, size, options) = sentences(language), key
    parts = [menu.size(size) if size else None, menu.item(sku) if sku else None]
    named = " ".join(part.name for part in parts if part is not None) or say("off_menu")
    chosen = []
    for group, option, amount, count, portion in sorted(options):
        name = menu.option_name(group, option)
        counted = say(f"amount_{amount}", name=f"{count} {name}" if count > 1 else name)
        chosen.append(_on_part(portion, counted, language))
    return f"{quantity} × {named}" + (f" ({', '.join(chosen)})" if chosen else "")


def capitalized(text: str) -> str:
    """Return a sentence with its first letter capitalized, after Spanish opening marks."""
    opened = len(text) - len(text.lstrip("¿¡"))
    return text[:opened] + text[opened : opened + 1].upper() + text[opened + 1 :]


def percent(probability: float) -> str:
    """Return a probability in percent; never 0% or 100% unless it is exactly that."""
    if 0 < probability < 0.01:
        return "under 1%"
    if 0.99 < probability < 1:
        return "over 99%"
    return f"{probability:.0%}"


def lasted(seconds: float) -> str:
    """Return a duration in its largest fitting unit: `40 s`, `12 min`, `3 h`, `2 days`."""
    if seconds < 60:
        return f"{max(0, seconds):.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * 86_400:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} days"
