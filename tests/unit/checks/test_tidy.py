"""A wish off the menu that only says again what a line already is goes; one that may be more stays."""

from __future__ import annotations

import pytest

from schemas.cart import CartDraft
from services.checks.tidy import drop_echoes
from services.reading.order import read_order
from tests.stand_ins import CAFE
from tests.unit.checks.test_validate import draft, item, off


@pytest.mark.parametrize(
    ("said", "lines", "dropped"),
    [
        ("a large latte please", [item("latte", 1, "L"), off("please")], 1),
        ("a large latte and a latte", [item("latte", 1, "L"), off("a latte")], 1),
        ("a large latte and a unicorn", [item("latte", 1, "L"), off("a unicorn")], 0),
        ("a latte and a mocha and a zeppelin", [item("latte", 1, "L"), off("a mocha")], 0),
        ("a latte and a mocha and a zeppelin", [item("latte", 1, "L"), off("and a")], 0),
    ],
)
def test_only_echoes_are_dropped(said: str, lines: list[dict[str, object]], dropped: int) -> None:
    written: CartDraft = draft(*lines)
    kept, many = drop_echoes(written, read_order(said, CAFE, 1))
    assert many == dropped
    assert kept.lines == written.lines[: len(lines) - dropped]
