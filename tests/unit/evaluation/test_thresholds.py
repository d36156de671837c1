"""The thresholds that a model's own probability allows."""

from __future__ import annotations

import json
import math
from collections import Counter
from dataclasses import replace
from pathlib import Path

import pytest

from services.decoding import wire
from services.decoding.prompt import MenuContext
from services.learning.training import score
from services.learning.training.orders import Row, TrainingShop
from services.learning.training.score import ACCEPT_FROM, Answered, allowed, outcome
from tests.stand_ins import CAFE

LATTE = [{"kind": "item", "sku": "latte", "quantity": 1, "size": "L", "options": []}]
SHOP = TrainingShop(MenuContext(CAFE), [Row(f"cafe-{n}", "a", "a large latte", LATTE) for n in range(4)])


def known(right: int, wrong: int, probability: float) -> list[Answered]:
    one = Answered(Counter(), Counter(), math.log(probability))
    return [one] * right + [replace(one, predicted=score.canonical(LATTE))] * wrong


def test_orders_are_counted_by_where_their_probability_lies() -> None:
    found = outcome([*known(5, 1, 0.99), *known(2, 4, 0.6), *known(0, 3, 0.1)], accept=0.9, ask=0.5)
    assert found == {
        **{"accept from": 0.9, "ask from": 0.5, "accepted": 6, "of them wrong": 1, "asked": 6},
        **{"shown a wrong cart": 4, "to a person": 3, "wrong, unseen": 2.0},
    }


@pytest.mark.parametrize(
    ("doubted", "ask"),
    [
        (known(50, 4, 0.55), 0.0),  # one of four wrong carts is confirmed
        (known(50, 12, 0.55), 0.6),  # three of twelve: too many of 160 orders
    ],
)
def test_as_much_is_asked_as_one_wrong_order_in_a_hundred_allows(doubted: list[Answered], ask: float) -> None:
    found = allowed([*known(100, 0, 1.0), *doubted])
    assert {one["ask from"] for one in found} == {ask}
    assert len(found) == len(ACCEPT_FROM)


def test_a_probability_that_lets_too_many_wrong_carts_stand_is_left_out() -> None:
    found = allowed([*known(98, 0, 1.0), *known(0, 2, 0.985)])
    assert min(one["accept from"] for one in found) > 0.985


def test_an_answer_that_is_not_a_cart_or_was_overruled_has_no_probability(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(score, "shops", lambda part: [SHOP])
    right = wire.write(LATTE, SHOP.names)
    small = wire.write([LATTE[0] | {"size": "S"}], SHOP.names)
    file = tmp_path / "tune.jsonl"
    rows = [
        {"part": "tune", "id": row.id, "text": text, "logprob": 0.0, "overruled": 2 * (row is SHOP.rows[3])}
        for row, text in zip(SHOP.rows, (right, small, "1 latte", right), strict=True)
    ]
    file.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = score.answered("tune", file)
    assert [(order.probability, order.right) for order in found] == [
        (1.0, True), (1.0, False), (0.0, False), (0.0, True),
    ]  # fmt: skip
