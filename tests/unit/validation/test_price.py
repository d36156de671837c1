"""Prices: integers in minor units, from the menu alone."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import Amount, CartDraft, ItemLine, NotOnMenuLine, OptionDraft
from schemas.priced_cart import Cart, Finding, Severity
from schemas.transcript import Transcript
from services.validation.price import price_cart
from tests.stand_ins import CAFE, speech

TYPED = Transcript(text="a latte", confidence=1.0)


def line(
    sku: str, quantity: int = 1, size: str | None = None, *options: OptionDraft, heard: str = "x"
) -> ItemLine:
    return ItemLine(kind="item", heard=heard, sku=sku, quantity=quantity, size=size, options=options)


def oat(amount: str = "normal", count: int = 1) -> OptionDraft:
    return OptionDraft(group="milk", id="oat", amount=Amount(amount), count=count)


def priced(*lines: Any, transcript: Transcript = TYPED, findings: tuple[Finding, ...] = ()) -> Cart:
    return price_cart(CartDraft(lines=lines), CAFE, 3, transcript, list(findings))


@pytest.mark.parametrize(
    ("ordered", "unit", "total"),
    [
        (line("muffin"), 350, 350),
        (line("muffin", 3), 350, 1050),
        (line("latte", 2, "L"), 500, 1000),
        # An extra portion is a second one; none costs nothing; light is still a portion.
        (line("latte", 1, "L", oat()), 560, 560),
        (line("latte", 1, "L", oat("light")), 560, 560),
        (line("latte", 1, "L", oat("extra")), 620, 620),
        (line("latte", 1, "L", oat("none")), 500, 500),
        (line("latte", 1, "L", oat(count=3)), 680, 680),
        (line("latte", 2, "L", oat("extra", 2)), 740, 1480),
        (line("latte", 1, "S", oat(), OptionDraft(group="shots", id="shot", count=2)), 640, 640),
        # A size that was not said: the default, the one price that all have, or the least.
        (line("americano"), 350, 350),
        (line("coffee"), 275, 275),
        (line("latte"), 400, 400),
        # What the menu can't price costs nothing; it has a blocking finding.
        (line("unicorn", 5), 0, 0),
        (line("latte", 1, "P10"), 400, 400),
        (line("muffin", 1, None, oat()), 350, 350),
        (line("latte", 1, "L", OptionDraft(group="milk", id="yak")), 500, 500),
    ],
)
def test_a_line_is_priced_from_the_menu(ordered: ItemLine, unit: int, total: int) -> None:
    cart = priced(ordered)
    (found,) = cart.lines
    assert (found.unit_price, found.line_total, cart.total) == (unit, total, total)
    assert all(type(amount) is int for amount in (found.unit_price, found.line_total, cart.total))


@pytest.mark.parametrize(
    ("ordered", "unit", "is_minimum"),
    [
        (line("latte"), 400, True),
        (line("latte", 1, "S"), 400, False),
        (line("latte", 1, "P10"), 400, True),
        (line("coffee"), 275, False),
        (line("nuggets", 1, "P10"), 650, True),
        (line("nuggets", 1, "P10", OptionDraft(group="sauce", id="ranch")), 650, False),
        (line("nuggets", 1, "P10", OptionDraft(group="sauce", id="ranch", amount=Amount.NONE)), 650, True),
        (line("unicorn"), 0, True),
        (NotOnMenuLine(kind="not_on_menu", heard="a unicorn", quantity=1), 0, True),
    ],
)
def test_a_price_is_a_lower_bound_while_a_choice_is_open(ordered: Any, unit: int, is_minimum: bool) -> None:
    cart = priced(line("muffin"), ordered)
    found = cart.lines[1]
    assert (found.unit_price, found.price_is_minimum) == (unit, is_minimum)
    assert (cart.total, cart.total_is_minimum) == (350 + unit, is_minimum and found.kind == "item")


def test_the_cart_names_currency_menu_and_version() -> None:
    cart = priced(line("muffin"), line("latte", 1, "S", oat("extra", 2)))
    assert (cart.currency, cart.menu.id, cart.menu.version) == ("USD", "trap-cafe", 3)
    latte = cart.lines[1]
    assert (latte.name, latte.size, latte.sku) == ("latte", "S", "latte")
    (option,) = latte.options
    assert (option.name, option.price, option.count, option.amount) == ("oat milk", 240, 2, Amount.EXTRA)


def test_the_size_of_the_price_is_shown() -> None:
    assert priced(line("americano")).lines[0].size == "M"
    assert priced(line("coffee")).lines[0].size is None


def test_findings_go_with_their_line() -> None:
    of_second = Finding(code="missing_size", severity=Severity.BLOCKING, message="Which?", line=1)
    of_none = Finding(code="empty_cart", severity=Severity.BLOCKING, message="None")
    cart = priced(line("muffin"), line("latte"), findings=(of_second, of_none))
    assert [found.findings for found in cart.lines] == [[], [of_second]]


def test_heard_carries_the_times_and_the_confidence_of_its_words() -> None:
    words = speech("a large latte and a muffin", probability=0.8, confidence=0.6)
    doubtful = words.words[2].model_copy(update={"probability": 0.2})
    words = words.model_copy(update={"words": (*words.words[:2], doubtful, *words.words[3:])})
    cart = priced(
        line("latte", 1, "L", heard="large latte"), line("muffin", heard="nowhere"), transcript=words
    )
    first, second = cart.lines
    assert (first.heard.text, first.heard.start_s, first.heard.end_s) == ("large latte", 0.4, 1.1)
    assert first.confidence == 0.5
    assert (second.heard.start_s, second.confidence) == (None, 0.6)
