"""Spanish orders by writers who saw no rule: the mechanisms are the same, the words are others."""

from __future__ import annotations

from functools import cache

import pytest

from infra.settings import REPOSITORY
from schemas.compare import canonical
from schemas.evidence import Evidence
from services.reading.chart.tokens import fold, folded
from services.reading.language.language import language
from services.reading.order import read_order
from services.training.notation import Order, read_menu, read_orders
from tests.carts import only_cart
from tests.unit.reading.test_told import proposed

TOLD = REPOSITORY / "tests" / "told" / "es"
# By file: its menu, and how many orders are accepted and how many carts proposed rightly, at least.
FLOORS = {
    "cafe-sol": ("cafe-sol", 17, 24),
    "taqueria-luna": ("taqueria-luna", 18, 24),
    # Nobody tunes on these: a failure tells the order's number, and not its words.
    "cafe-sol-fresh": ("cafe-sol", 3, 4),
    "taqueria-luna-fresh": ("taqueria-luna", 4, 5),
}


@cache
def read(file: str) -> list[tuple[Order, Evidence]]:
    menu = read_menu(TOLD / f"{FLOORS[file][0]}.menu")
    orders, problems = read_orders(TOLD / f"{file}.orders", menu)
    assert problems == []
    return [(order, read_order(order.said, menu, 1)) for order in orders]


@pytest.mark.parametrize("file", FLOORS)
def test_nothing_wrong_is_accepted_without_a_look(file: str) -> None:
    carts = [(number, order, only_cart(evidence)) for number, (order, evidence) in enumerate(read(file), 1)]
    accepted = [(number, order, cart) for number, order, cart in carts if cart is not None]
    assert [number for number, order, cart in accepted if canonical(cart) != canonical(order.lines)] == []
    assert len(accepted) >= FLOORS[file][1], "where little is accepted, little is proved"


@pytest.mark.parametrize("file", FLOORS)
def test_most_proposals_are_right_though_nobody_asked_a_model(file: str) -> None:
    carts = [(order, proposed(evidence)) for order, evidence in read(file)]
    right = sum(cart is not None and canonical(cart) == canonical(order.lines) for order, cart in carts)
    assert right >= FLOORS[file][2]


@pytest.mark.parametrize(
    ("said", "plain"),
    [
        ("Cafés", "cafe"), ("cafecito", "cafe"), ("limones", "limon"), ("arroces", "arroz"), ("tés", "te"),
        ("verdes", "verde"), ("chiles", "chile"), ("piñas", "piña"), ("negras", "negro"), ("veintidós", "22"),
        ("carnitas", "carnita"), ("taquitos", "taco"), ("salsita", "salsa"),
    ],
)  # fmt: skip
def test_spanish_words_are_folded_by_rules_of_spanish(said: str, plain: str) -> None:
    assert fold(said, language("es")) == plain


def test_an_accent_tells_no_words_apart_but_an_ñ_does() -> None:
    assert folded("jamón", language("es")) == folded("jamon", language("es"))
    assert folded("piña", language("es")) != folded("pina", language("es"))


@pytest.mark.parametrize(
    ("said", "lines"),
    [
        ("treinta y un tacos de lengua", [31]),
        ("treinta y dos tacos de lengua", [32]),
        ("dos tacos al pastor y uno de lengua", [2, 1]),
    ],
)
def test_numbers_and_kinds_in_the_order_of_spanish(said: str, lines: list[int]) -> None:
    cart = proposed(read_order(said, read_menu(TOLD / "taqueria-luna.menu"), 1))
    assert cart is not None
    assert [line["quantity"] for line in cart] == lines
