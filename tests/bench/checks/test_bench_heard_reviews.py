"""Reviews counted by what was in doubt, and sealed rows that nobody counts by order."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.bench.hearing.calibrate_hinted import Mix
from tests.bench.hearing.heard_reviews import counted, scored, table, why
from tests.stand_ins import sample_menu
from tests.unit.evaluation_rows import gold_row, prediction


def rows() -> list[tuple[dict[str, Any], dict[str, Any]]]:
    made = [
        prediction("a"),
        prediction("b", review="field_doubtful"),
        prediction("c", "mocha", review="field_doubtful"),
        prediction("d", "mocha", review="left_open"),
    ]
    return [(one, gold_row(one["id"])) for one in made]


def test_reviews_are_counted_by_what_was_in_doubt() -> None:
    total, by_reason = counted(rows())
    assert (total["orders"], total["to a human"], total["of them needless"]) == (4, 3, 1)
    assert by_reason["field_doubtful",] == {"reviews": 2, "right": 1, "human": 2}
    assert by_reason["left_open",] == {"reviews": 1, "right": 0, "human": 1}
    assert "| field_doubtful | 2 | 1 | 1 | 2 |" in table(rows())


def test_information_is_no_reason() -> None:
    made = prediction("a", review="left_open")
    made["findings"].append({"code": "size_defaulted", "severity": "info", "message": ""})
    assert why(made) == ("left_open",)


@pytest.mark.parametrize("name", ["menu-sealed.jsonl", "sealed/menu.jsonl"])
def test_sealed_rows_are_refused(tmp_path: Path, name: str) -> None:
    gold = tmp_path / name
    gold.parent.mkdir(exist_ok=True)
    gold.write_text(json.dumps(gold_row("a")))
    with pytest.raises(SystemExit, match="sealed"):
        scored(gold, gold)


@pytest.mark.parametrize(
    ("text", "right"),
    [
        ("2 small lattes, please, and a mocha", True),  # written otherwise
        ("two small ladders and a mocha", False),  # an item is lost
        ("three small lattes and a mocha", False),
        ("two small lattes and a mocha with oat milk", False),
    ],
)
def test_a_spoken_order_was_heard_right_where_its_words_mean_what_was_said(text: str, right: bool) -> None:
    order = {"text": "Two small lattes and a mocha."}
    mix = Mix("a", "clean", sample_menu("harbor-coffee"), order, people=False, made=None)
    assert mix.right(text) is right
