"""How the techniques' bench judges an answer: failures by kind, catalog errors apart, exact carts."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.bench.chat import Answer
from tests.bench.orders import Order, labels_of, menu_of, sample
from tests.bench.techniques.reading import Reading, exact, exact_when_tidied, read

SAID = "a small latte with oat milk and a bicycle"
LINE: dict[str, Any] = {
    "kind": "item",
    "heard": "a small latte",
    "sku": "latte",
    "quantity": 1,
    "size": "small",
}


def answered(text: str, finish: str = "stop") -> Reading:
    return read(Answer(text, finish, 0, 0, 0, 0.0), labels_of("harbor-coffee"), SAID)


def lines(*these: dict[str, Any]) -> str:
    return json.dumps({"lines": these})


@pytest.mark.parametrize(
    ("text", "finish", "failure"),
    [
        ("Sure! Here is the cart.", "stop", "no JSON"),
        (lines(LINE) + " Anything else?", "stop", "no JSON"),
        (lines(LINE), "length", "truncated"),
        ("the schema has unsupported parts", "refused", "refused"),
        (lines({**LINE, "quantity": "two"}), "stop", "wrong type"),
        (lines({**LINE, "quantity": 1.5}), "stop", "wrong type"),
        ("[]", "stop", "wrong type"),
        (lines({**LINE, "price": 450}), "stop", "schema violation"),
        (lines({key: value for key, value in LINE.items() if key != "heard"}), "stop", "schema violation"),
        (lines({**LINE, "kind": "drink"}), "stop", "schema violation"),
        (lines({**LINE, "quantity": 0}), "stop", "schema violation"),
        ('{"cart": []}', "stop", "schema violation"),
    ],
)
def test_what_is_no_cart_fails_by_kind(text: str, finish: str, failure: str) -> None:
    reading = answered(text, finish)
    assert reading.failure == failure
    assert reading.problem
    assert not exact(reading, [])


@pytest.mark.parametrize("text", [lines(LINE), f"```json\n{lines(LINE)}\n```", f"```\n{lines(LINE)}\n```\n"])
def test_a_cart_is_read_by_id_and_one_fence_is_forgiven(text: str) -> None:
    reading = answered(text)
    assert reading.failure is None
    assert not reading.catalog
    assert exact(reading, [{"sku": "latte", "quantity": 1, "size": "S", "options": []}])
    assert not exact(reading, [{"sku": "latte", "quantity": 2, "size": "S", "options": []}])


@pytest.mark.parametrize(
    ("change", "error"),
    [
        ({"sku": "unicorn latte"}, "unknown item"),
        ({"size": "bucket"}, "unknown size"),
        ({"sku": "blueberry muffin"}, "size that the item lacks"),
        ({"options": [{"group": "milk", "id": "dragon milk"}]}, "unknown option"),
        ({"options": [{"group": "syrup", "id": "oat milk"}]}, "unknown option"),
        (
            {"sku": "blueberry muffin", "size": None, "options": [{"group": "milk", "id": "oat milk"}]},
            "option that the item lacks",
        ),
    ],
)
def test_a_cart_of_what_the_menu_lacks_is_no_parse_failure(change: dict[str, Any], error: str) -> None:
    reading = answered(lines({**LINE, **change}))
    assert reading.failure is None
    assert reading.catalog == (error,)
    assert not exact(reading, [{"sku": "latte", "quantity": 1, "size": "S", "options": []}])


def test_a_line_that_only_echoes_another_is_tidied_away_beside_the_bare_score() -> None:
    order = Order("x", "a small latte please", menu_of("harbor-coffee"), [])
    gold = [{"sku": "latte", "quantity": 1, "size": "S", "options": []}]
    echo = {"kind": "not_on_menu", "heard": "latte", "quantity": 1}
    reading = answered(lines(LINE, echo))
    assert not exact(reading, gold)
    assert exact_when_tidied(reading, gold, order.evidence())
    assert not exact_when_tidied(answered("no cart"), gold, order.evidence())


def test_words_that_nobody_said_are_counted() -> None:
    invented = {"kind": "not_on_menu", "heard": "a unicycle", "quantity": 1}
    assert answered(lines(LINE, invented)).words_not_said == 1


def test_the_sample_is_even_repeatable_and_never_sealed() -> None:
    orders = sample(40)
    assert len({order.id for order in orders}) == 40
    assert {order.menu.id for order in orders} == {"harbor-coffee", "copper-skillet"}
    assert [order.id for order in orders] == [order.id for order in sample(40)]
    assert len(sample(10_000)) == 180
    assert not any("-s-" in order.id for order in sample(10_000))
