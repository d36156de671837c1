"""Options on one half of an item: what they cost, what a menu allows of them, and how they are told."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.compare import corrections
from schemas.transcript import Transcript
from services.validation.facts import check_facts
from services.validation.price import price_cart
from tests.pizzeria import PIZZERIA, draft, topped

SAID = Transcript(text="a pizza", confidence=1.0)


def priced(line: dict[str, Any]) -> Any:
    return price_cart(draft(line), PIZZERIA, 1, SAID, [])


@pytest.mark.parametrize(
    ("line", "options", "total"),
    [
        (topped(("topping", "olives", "whole")), [150], 1150),
        (topped(("topping", "olives", "left")), [75], 1075),
        (topped(("topping", "olives", "right")), [75], 1075),
        # 201 halves are 100.5: up, for each option and each single pizza.
        (topped(("topping", "ham", "left")), [101], 1101),
        (topped(("topping", "ham", "left"), quantity=3), [101], 3303),
        (topped(("topping", "ham", "left"), ("topping", "olives", "right")), [101, 75], 1176),
        # Half of an extra portion is half of two.
        (topped(("topping", "ham", "left", "extra")), [201], 1201),
        (topped(("topping", "ham", "left", "none")), [0], 1000),
        # On both halves alike it is on all of it; in another amount it is two halves.
        (topped(("topping", "ham", "left"), ("topping", "ham", "right")), [201], 1201),
        (topped(("topping", "ham", "left"), ("topping", "ham", "right", "extra")), [101, 201], 1302),
    ],
)
def test_a_half_costs_half_rounded_up(line: dict[str, Any], options: list[int], total: int) -> None:
    cart = priced(line)
    assert ([option.price for option in cart.lines[0].options], cart.total) == (options, total)


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        (topped(("topping", "olives", "left"), ("topping", "ham", "right")), []),
        (topped(("topping", "ham", "left", "light"), ("topping", "ham", "right", "extra")), []),
        (topped(("crust", "thick-crust", "left")), ["half_not_offered"]),
        (topped(("topping", "ham", "left"), ("topping", "ham", "whole")), ["option_repeated"]),
        (topped(("topping", "ham", "left"), ("topping", "ham", "left")), ["option_repeated"]),
        (topped(("sauce", "tomato", "left"), ("sauce", "cream", "right")), []),
        (topped(("sauce", "tomato", "left"), ("sauce", "cream", "left")), ["too_many_choices"]),
        (topped(("sauce", "tomato", "whole"), ("sauce", "cream", "right")), ["too_many_choices"]),
    ],
)
def test_the_menu_says_what_goes_on_a_half(line: dict[str, Any], codes: list[str]) -> None:
    assert [found.code for found in check_facts(draft(line), PIZZERIA)] == codes


def test_another_half_counts_as_a_correction() -> None:
    before, after = (priced(topped(("topping", "ham", portion))) for portion in ("left", "whole"))
    assert list(corrections(before, after)) == ["without ham", "with ham"]
