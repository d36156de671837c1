"""How amounts, options and the customer's words are written for people, on a terminal and on a page."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from decimal import Decimal, InvalidOperation

from schemas.cart import Amount, CartDraft, CartLine, CartOption, Finding, HeardSpan, Severity
from schemas.compare import LineKey, canonical_draft
from schemas.menu import Menu
from schemas.review import ReviewReason

# ISO 4217 currencies that do not have two decimals.
_DECIMALS = {
    **dict.fromkeys("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX VND VUV XAF XOF XPF".split(), 0),
    **dict.fromkeys("BHD IQD JOD KWD LYD OMR TND".split(), 3),
}
_SIGNS = {"USD": "$", "EUR": "€", "GBP": "£", "JPY": "¥", "INR": "₹", "KRW": "₩"}
AMOUNT_WORDS = {Amount.NONE: "no ", Amount.LIGHT: "light ", Amount.NORMAL: "", Amount.EXTRA: "extra "}
OFF_MENU = "something off the menu"


def money(minor: int, currency: str) -> str:
    """An amount in minor units as people write it: `$4.50`, `¥450`, `4.50 CHF`."""
    decimals = _DECIMALS.get(currency, 2)
    whole, part = divmod(abs(minor), 10**decimals)
    figure = f"{whole:,}" + (f".{part:0{decimals}d}" if decimals else "")
    sign = "-" if minor < 0 else ""
    return f"{sign}{_SIGNS[currency]}{figure}" if currency in _SIGNS else f"{sign}{figure} {currency}"


def amount(minor: int, currency: str) -> str:
    """An amount as a form field holds it: `4.50`, without sign or code."""
    decimals = _DECIMALS.get(currency, 2)
    return f"{Decimal(minor).scaleb(-decimals):f}"


def minor_units(text: str, currency: str) -> int:
    """What `amount` wrote, or a person typed (`4.5`, `4,50`), in minor units.

    Raises:
        ValueError: not a number, or finer than the currency is.
    """
    try:
        value = Decimal(text.strip().replace(",", ".")).scaleb(_DECIMALS.get(currency, 2))
        if value == value.to_integral_value():
            return int(value)
    except (InvalidOperation, OverflowError):
        pass
    raise ValueError(f"{text[:20]!r} is not an amount in {currency}")


def heard(span: HeardSpan) -> str:
    """The customer's words with their place in the recording, in seconds."""
    if span.start_s is None or span.end_s is None:
        return f"“{span.text}”"
    return f"“{span.text}” {span.start_s:.1f}–{span.end_s:.1f} s"


def option_name(chosen: CartOption) -> str:
    """`2 × espresso shot`, `no whipped cream`."""
    count = f"{chosen.count} × " if chosen.count > 1 else ""
    return f"{count}{AMOUNT_WORDS[chosen.amount]}{chosen.name}"


def option(chosen: CartOption, currency: str) -> str:
    """The same with what it adds to the price."""
    price = f" (+{money(chosen.price, currency)})" if chosen.price else ""
    return f"{option_name(chosen)}{price}"


_REASONS = {
    ReviewReason.LOW_ASR_CONFIDENCE: "hard to hear",
    ReviewReason.NOTHING_HEARD: "nothing was said",
    ReviewReason.NOT_ON_MENU: "asks for something that is not on the menu",
    ReviewReason.BLOCKING_FINDING: "something does not add up",
    ReviewReason.DECODE_FAILED: "the machine could not make a cart",
    ReviewReason.DECODE_TRUNCATED: "too long for the machine",
    ReviewReason.DECODER_UNAVAILABLE: "the machine was not available",
    ReviewReason.STAGE_FAILED: "a step failed several times",
    ReviewReason.TOO_MUCH_TO_READ: "more than the machine reads for one order",
}


# The same for the customer, where no finding says it better.
_TOLD = {
    ReviewReason.LOW_ASR_CONFIDENCE: "It was hard to hear what you said.",
    ReviewReason.NOTHING_HEARD: "We heard no words.",
    ReviewReason.NOT_ON_MENU: "You asked for something that is not on the menu.",
    ReviewReason.BLOCKING_FINDING: "Something about the order is not clear.",
    ReviewReason.DECODE_FAILED: "We could not make an order of what you said by ourselves.",
    ReviewReason.DECODE_TRUNCATED: "This order is too long for us to write down by ourselves.",
    ReviewReason.DECODER_UNAVAILABLE: "Our system did not answer, so somebody takes this order by hand.",
    ReviewReason.STAGE_FAILED: "Something went wrong on our side, so somebody takes this order by hand.",
    ReviewReason.TOO_MUCH_TO_READ: "There is more in this order than we can read by ourselves.",
}
# Findings that say that it was hard to hear, and what.
_HARD_TO_HEAR = {"field_doubtful", "heard_again", "nothing_heard"}


def reason(given: ReviewReason) -> str:
    """Why a human must look, in words for the one who looks."""
    return _REASONS[given]


def told(given: ReviewReason) -> str:
    """Why a human must look, as a sentence for the customer."""
    return _TOLD[given]


def unsaid(reasons: Iterable[ReviewReason], findings: Iterable[Finding]) -> list[ReviewReason]:
    """The reasons that no finding says already, and better."""
    codes = {found.code for found in findings if found.severity is Severity.BLOCKING}
    said = {
        given: bool(codes & _HARD_TO_HEAR) if given is ReviewReason.LOW_ASR_CONFIDENCE else bool(codes)
        for given in ReviewReason
    }
    return [given for given in reasons if not said[given]]


def doubts(reasons: Iterable[ReviewReason], findings: Sequence[Finding]) -> list[str]:
    """Everything that keeps an order from being settled, in sentences for the customer, each once."""
    sentences = [told(given) for given in unsaid(reasons, findings)]
    sentences += [found.message for found in findings if found.severity is Severity.BLOCKING]
    return list(dict.fromkeys(sentences))


def line(priced: CartLine, sizes: Mapping[str, str], currency: str) -> str:
    """One line of a cart in one breath: `2 × large latte, oat milk (+$0.60)`."""
    size = f"{sizes.get(priced.size, priced.size)} " if priced.size else ""
    missing = " (not on the menu)" if priced.kind == "not_on_menu" else ""
    parts = [f"{priced.quantity} × {size}{priced.name}{missing}"]
    return ", ".join(parts + [option(chosen, currency) for chosen in priced.options])


def open_line(
    quantity: int,
    items: Sequence[str],
    size: str | None,
    options: Mapping[tuple[str, str], tuple[Amount, int]],
    menu: Menu,
) -> str:
    """A line that is not settled yet: `2 × large latte (no foam, 2 espresso shot)`. `items` are skus, of
    which it is one; `options` has amount and count by group and option."""
    names = [item.name for item in map(menu.item, items) if item is not None]
    known = menu.size(size) if size else None
    parts = [*([known.name] if known else []), *([" or ".join(names)] if names else [])]
    chosen = ", ".join(open_option(*choice, *how, menu) for choice, how in options.items())
    return f"{quantity} × {' '.join(parts) or OFF_MENU}" + (f" ({chosen})" if chosen else "")


def open_option(group: str, option: str, amount: Amount, count: int, menu: Menu) -> str:
    """An option of such a line: `no foam`, `2 espresso shot`."""
    return f"{AMOUNT_WORDS[amount]}{f'{count} ' if count > 1 else ''}{_menu_name(group, option, menu)}"


def _menu_name(group: str, option: str, menu: Menu) -> str:
    known = menu.group(group)
    return next((o.name for o in known.options if o.id == option), option) if known else option


def drafted_line(key: LineKey, quantity: int, menu: Menu) -> str:
    """A line of a draft, as carts are compared: `2 × large latte (oat milk)`."""
    _, sku, size, options = key
    chosen = {(group, ref): (Amount(amount), count) for group, ref, amount, count in sorted(options)}
    return open_line(quantity, [sku] if sku else [], size, chosen, menu)


def drafted(draft: CartDraft, menu: Menu) -> str:
    """A draft in one breath, equal lines together: `2 × large latte (oat milk); 1 × blueberry muffin`."""
    return open_order(drafted_line(key, n, menu) for key, n in canonical_draft(draft).items())


def open_order(lines: Iterable[str]) -> str:
    """Such lines in a row, as a question has them."""
    return "; ".join(lines) or "something else"


def begun(text: str) -> str:
    """A sentence as it begins: with a capital."""
    return text[0].upper() + text[1:]


def lasted(seconds: float) -> str:
    """A stretch of time, as rough as it is long: `40 s`, `12 min`, `3 h`, `2 days`."""
    if seconds < 60:
        return f"{max(0, seconds):.0f} s"
    if seconds < 3600:
        return f"{seconds / 60:.0f} min"
    if seconds < 2 * 86_400:
        return f"{seconds / 3600:.0f} h"
    return f"{seconds / 86_400:.0f} days"
