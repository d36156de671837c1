"""When two carts are equal, and what differs when they are not."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from services.learning.evaluation.run import read_rows
from services.learning.evaluation.score import score


def line(sku: str = "latte", quantity: int = 1, size: str | None = None, *options: Any) -> dict[str, Any]:
    return {"sku": sku, "quantity": quantity, "size": size, "options": list(options)}


OAT = {"group": "milk", "id": "oat", "amount": "normal", "count": 1}
FOAM = {"group": "foam", "id": "foam", "amount": "extra", "count": 1}


@pytest.mark.parametrize(
    ("gold", "predicted"),
    [
        ([line()], [line()]),
        ([line(quantity=2)], [line(), line()]),
        ([line("a"), line("b")], [line("b"), line("a")]),
        ([line("latte", 1, None, OAT, FOAM)], [line("latte", 1, None, FOAM, OAT)]),
        ([line("latte", 1, None, OAT)], [line("latte", 1, None, {"group": "milk", "id": "oat"})]),
        ([line()], [{"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1}]),
        ([], []),
    ],
)
def test_equal_carts(gold: list[dict[str, Any]], predicted: list[dict[str, Any]]) -> None:
    assert score(gold, predicted).exact


@pytest.mark.parametrize(
    ("predicted", "wrong"),
    [
        ([], {"item missing": 1}),
        ([line("mocha")], {"item missing": 1, "item added": 1}),
        ([line(quantity=2)], {"quantity": 1}),
        ([line(size="L")], {"size": 1}),
        ([line("latte", 1, None, OAT)], {"option added": 1}),
        ([line(), line("mocha")], {"item added": 1}),
        ([line(), {"kind": "not_on_menu", "heard": "x", "quantity": 1}], {"item added": 1}),
    ],
)
def test_what_differs_is_named(predicted: list[dict[str, Any]], wrong: dict[str, int]) -> None:
    scored = score([line()], predicted)
    assert not scored.exact
    assert scored.wrong == wrong


def test_an_option_s_amount_and_absence_are_told_apart() -> None:
    gold = [line("latte", 1, None, OAT, FOAM)]
    assert score(gold, [line("latte", 1, None, OAT)]).wrong == {"option missing": 1}
    light = {**FOAM, "amount": "light"}
    assert score(gold, [line("latte", 1, None, OAT, light)]).wrong == {"amount or count": 1}


def test_a_line_is_held_against_its_likest_twin() -> None:
    gold = [line("latte", 1, "L", OAT), line("latte", 1, "S", FOAM)]
    predicted = [line("latte", 2, "S", FOAM), line("latte", 1, "L")]
    assert score(gold, predicted).wrong == {"option missing": 1, "quantity": 1}


@pytest.mark.parametrize(
    "row", ["{", '{"id": 1, "cart": {"lines": []}, "utterance": "x"}', '{"id": "a", "cart": {"lines": []}}']
)
def test_a_broken_row_is_an_error_with_its_line(row: str, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": "ok", "utterance": "x", "cart": {"lines": []}}\n' + row + "\n")
    assert [found["id"] for found in read_rows(gold) if "error" in found] == ["line 2"]
