"""The predicted cart: the names in the words, and nothing clever."""

from __future__ import annotations

import pytest

from services.decoding import wire
from services.decoding.prediction import predict_cart
from services.decoding.wire_mask import wire_mask
from services.retrieval.names import MenuNames
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
    ],
)  # fmt: skip
def test_each_item_gets_the_nearest_sizes_and_options(said: str, cart: str) -> None:
    written = wire.write(predict_cart(retrieve(said, LOOKUP), MENU), NAMES)
    assert written == f'{{"lines":{cart}}}'
    assert wire_mask(NAMES, said).accepts(written)
