"""Words for people: every reason has some, and amounts of time are as rough as they are long."""

from __future__ import annotations

import pytest

from schemas import wording
from schemas.cart import CartLine, CartOption, HeardSpan
from schemas.review import ReviewReason


@pytest.mark.parametrize("reason", ReviewReason)
def test_every_reason_is_told_in_words(reason: ReviewReason) -> None:
    assert wording.reason(reason)
    assert "_" not in wording.reason(reason)


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-1, "0 s"), (59.4, "59 s"), (90, "2 min"), (3599, "60 min"), (7200, "2 h"), (200_000, "2 days")],
)
def test_a_stretch_of_time(seconds: float, told: str) -> None:
    assert wording.lasted(seconds) == told


def test_a_line_in_one_breath() -> None:
    heard = HeardSpan(text="two large lattes")
    oat = CartOption(group="milk", id="oat", name="oat milk", amount="extra", count=1, price=120)
    line = CartLine(
        kind="item", heard=heard, sku="latte", name="latte", quantity=2, size="L", options=[oat], confidence=1
    )
    assert wording.line(line, {"L": "large"}, "USD") == "2 × large latte, extra oat milk (+$1.20)"
    wish = CartLine(kind="not_on_menu", heard=heard, name="a unicorn", quantity=1, confidence=1)
    assert wording.line(wish, {}, "USD") == "1 × a unicorn (not on the menu)"
