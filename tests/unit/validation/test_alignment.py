"""Which words a line of a cart rests on."""

from __future__ import annotations

from typing import Any

import pytest

from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.alignment import aligned
from tests.stand_ins import CAFE

OAT = {"group": "milk", "id": "oat"}


def line(sku: str, quantity: int = 1, size: str | None = None, *options: dict[str, str]) -> dict[str, Any]:
    return {"kind": "item", "sku": sku, "quantity": quantity, "size": size, "options": list(options)}


def heard(said: str, *lines: dict[str, Any]) -> list[str]:
    return [one.heard for one in aligned(lines, said, retrieve(said, names_of(CAFE))).lines]


@pytest.mark.parametrize(
    ("said", "lines", "words"),
    [
        ("two large lattes with oat milk and a mocha", [line("latte", 2, "L", OAT), line("mocha")],
         ["two large lattes with oat milk", "mocha"]),
        # The same item twice: in the order of the words.
        ("a large latte and a small latte", [line("latte", 1, "L"), line("latte", 1, "S")],
         ["large latte", "small latte"]),
        # Said once, two lines of it.
        ("two lattes one large one small", [line("latte", 1, "L"), line("latte", 1, "S")],
         ["lattes one large", "lattes one large one small"]),
        # Nothing names the item: all that was said.
        ("the usual please", [line("latte")], ["the usual please"]),
    ],
)  # fmt: skip
def test_a_line_has_the_words_from_its_first_value_to_its_last(
    said: str, lines: list[dict[str, Any]], words: list[str]
) -> None:
    assert heard(said, *lines) == words


def test_a_wish_off_the_menu_keeps_its_words() -> None:
    wish = {"kind": "not_on_menu", "heard": "a bicycle", "quantity": 1}
    assert heard("a latte and a bicycle", line("latte"), wish) == ["latte", "a bicycle"]
