"""Every sentence of tests/sentences becomes what is written beside it."""

from __future__ import annotations

from collections import Counter

import pytest

from services.reading.order import read_order
from tests.carts import MENUS, in_short, left_in_short, only_cart
from tests.sentences.rows import Row, rows

ROWS = rows()


@pytest.mark.parametrize("row", ROWS, ids=str)
def test_a_sentence_becomes_what_is_written(row: Row) -> None:
    evidence = read_order(row.said, MENUS[row.menu], 1)
    accepted = only_cart(evidence)
    if row.wrong is not None:
        assert accepted is not None, "nothing wrong is accepted any more: take `wrong` away"
        assert in_short(accepted) == row.wrong != row.cart
        return
    if row.cart is not None:
        assert left_in_short(evidence) == row.cart
        assert all(line.required for line in evidence.lines)
        assert all(line.settled(evidence.menu) for line in evidence.lines) is row.settled
    if row.end == "accepted":
        assert evidence.plain
        assert accepted is not None
        assert in_short(accepted) == row.cart
    elif row.end == "doubt":
        assert not evidence.plain
        assert accepted is None, "a human still looks at it"
    assert set(row.unexplained) <= set(evidence.unexplained)
    assert {mark: bool(getattr(evidence, mark)) for mark in row.evidence} == row.evidence


def test_every_row_says_something_and_stands_once() -> None:
    assert len(ROWS) > 350
    for row in ROWS:
        assert row.end in ("accepted", "doubt", None), row
        assert row.cart is not None or row.end == "doubt", row
    twice = [key for key, count in Counter((row.menu, row.said.lower()) for row in ROWS).items() if count > 1]
    assert twice == []
