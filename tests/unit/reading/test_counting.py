"""A number that counts nothing where it stands in a cart is a doubt."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import CartDraft
from services.checks.evidence import check_evidence
from services.reading.order import read_order
from tests.carts import MENUS


def doubts(menu: str, words: str, *lines: dict[str, Any]) -> set[str]:
    """Codes of the findings about a draft, whatever the readings say."""
    draft = CartDraft.model_validate({"lines": [{"kind": "item", "heard": words, **line} for line in lines]})
    return {finding.code for finding in check_evidence(draft, read_order(words, MENUS[menu], 1))}


SHOT = {"group": "shots", "id": "espresso"}


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        # An equal number elsewhere in the cart is not this one.
        (
            "two small lattes with two extra shots",
            [{"sku": "latte", "quantity": 2, "size": "S", "options": [SHOT]}],
        ),
        (
            "two muffins and a small latte with two shots",
            [
                {"sku": "blueberry-muffin", "quantity": 2},
                {"sku": "latte", "quantity": 1, "size": "S", "options": [SHOT]},
            ],
        ),
        (
            "two small oat lattes and a mocha with two shots",
            [
                {
                    "sku": "latte",
                    "quantity": 1,
                    "size": "S",
                    "options": [{"group": "milk", "id": "oat", "count": 2}],
                },
                {"sku": "mocha", "quantity": 1, "options": [SHOT | {"count": 2}]},
            ],
        ),
        (
            "a small latte with two extra shots",
            [{"sku": "latte", "quantity": 2, "size": "S", "options": [SHOT]}],
        ),
    ],
)
def test_a_number_that_counts_nothing_where_it_stands_is_a_doubt(
    words: str, lines: list[dict[str, Any]]
) -> None:
    assert "number_unused" in doubts("harbor-coffee", words, *lines)
