"""The literal cart: every name, number and amount at its word."""

from __future__ import annotations

import pytest

from schemas.compare import canonical
from services.decoding import wire
from services.decoding.wire_mask import wire_mask
from services.learning.training.orders import shops
from services.retrieval.literal import literal_cart
from services.retrieval.names import MenuNames, names_of
from services.retrieval.retrieval import retrieve
from tests.unit.decoding.test_wire import MENU, NAMES

LOOKUP = MenuNames(MENU)


@pytest.mark.parametrize(
    ("said", "cart"),
    [
        ("hello there", "[]"),
        ("a latte", '[{"item":"Latte"}]'),
        ("two large lattes with oat milk and foam",
         '[{"item":"Latte","quantity":2,"size":"large","options":["oat milk","foam"]}]'),
        ("an oat milk latte macchiato and 3 large lattes",
         '[{"item":"Latte Macchiato","options":["oat milk"]},{"item":"Latte","quantity":3,"size":"large"}]'),
        ("a small latte macchiato, then a latte with foam",
         '[{"item":"Latte Macchiato","size":"small"},{"item":"Latte","options":["foam"]}]'),
        ("a large latte macchiato", '[{"item":"Latte Macchiato"}]'),
        ("large with foam please", "[]"),
        ("foam on a latte with foam", '[{"item":"Latte","options":["foam"]}]'),
        ("3 macchiatos", '[{"item":"Latte Macchiato","quantity":3}]'),
        ("a large lattee", '[{"item":"Latte","size":"large"}]'),
        ("a latte, extra foam", '[{"item":"Latte","options":[{"option":"foam","amount":"extra"}]}]'),
        ("a latte without the foam", '[{"item":"Latte","options":[{"option":"foam","amount":"none"}]}]'),
        ("a latte, easy on the foam", '[{"item":"Latte","options":[{"option":"foam","amount":"light"}]}]'),
        ("a latte with two foam", '[{"item":"Latte","options":[{"option":"foam","count":2}]}]'),
        ("a latte with double foam", '[{"item":"Latte","options":[{"option":"foam","count":2}]}]'),
        ("three lattes, one with foam", '[{"item":"Latte","quantity":3,"options":["foam"]}]'),
        ("a latte, a muffin deluxe, and no latte after all", '[{"item":"Muffin \\"deluxe\\""}]'),
        ("a muffin deluxe, no sorry, a latte", '[{"item":"Latte"}]'),
        ("a latte macchiato and an oat milk latte",
         '[{"item":"Latte Macchiato"},{"item":"Latte","options":["oat milk"]}]'),
        ("a latte, the lattee with foam", '[{"item":"Latte","options":["foam"]}]'),
    ],
)  # fmt: skip
def test_names_numbers_and_amounts_are_taken_at_their_word(said: str, cart: str) -> None:
    written = wire.write(literal_cart(said, retrieve(said, LOOKUP), MENU), NAMES)
    assert written == f'{{"lines":{cart}}}'
    assert wire_mask(NAMES, said).accepts(written)


def test_it_is_the_intended_cart_of_almost_half_of_the_tuned_orders() -> None:
    orders = [(row, shop.menu) for shop in shops("tune") for row in shop.rows]
    right = sum(
        canonical(literal_cart(row.utterance, retrieve(row.utterance, names_of(menu)), menu))
        == canonical(row.lines)
        for row, menu in orders
    )
    assert right / len(orders) > 0.44
