"""`saycart eval compare`: what changed, by which test, and a hint when runs don't fit."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result
from typer.testing import CliRunner

from services.cli.main import app
from services.learning.evaluation.figures import judge
from services.learning.evaluation.report import write_report
from tests.unit.evaluation_rows import gold_row, prediction

GOLD = [gold_row(name) for name in "abcdefgh"]


def before() -> list[dict[str, Any]]:
    """All right and accepted, but for `g` (wrong, accepted) and `h` (wrong, asked)."""
    return [
        *(prediction(name) for name in "abcdef"),
        prediction("g", "mocha"),
        prediction("h", "mocha", review="vague_name"),
    ]


def after() -> list[dict[str, Any]]:
    """`a` to `e` became wrong, `a` with a review; `f` is asked needlessly; `g` is right; `h` is accepted."""
    return [
        prediction("a", "tea", review="vague_name"),
        *(prediction(name, "tea") for name in "bcde"),
        prediction("f", review="vague_name"),
        prediction("g"),
        prediction("h", "mocha"),
    ]


def report(folder: Path, predictions: list[dict[str, Any]], **about: Any) -> Path:
    gold = {row["id"]: row for row in GOLD}
    rows = [judge(gold[predicted["id"]], predicted) for predicted in predictions]
    write_report(folder, rows, about, asr_threshold=0.72)
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, words)])


def test_folders_are_compared_by_themselves(tmp_path: Path) -> None:
    one, two = report(tmp_path / "one", before()), report(tmp_path / "two", after(), condition="new")
    done = run("compare", one, two)
    assert done.exit_code == 0, done.output
    found = json.loads(done.stdout)
    assert found["changes"] == {
        "right to wrong": ["a", "b", "c", "d", "e"],
        "wrong to right": ["g"],
        "became a silent error": ["b", "c", "d", "e", "h"],
        "no longer a silent error": ["g"],
        "accepted to review": ["a", "f"],
        "review to accepted": ["h"],
    }
    exact = found["tests"]["exact carts"]
    assert (exact["only_a"], exact["only_b"], exact["difference"]) == (5, 1, -0.5)
    low, high = exact["difference_ci"]
    assert -1 <= low < -0.5 < high <= 0.25
    silent = found["tests"]["silent errors"]
    assert (silent["only_a"], silent["only_b"]) == (1, 5)
    assert found["b"]["about"] == {"condition": "new"}
    assert str(tmp_path) not in done.stdout


def test_runs_over_other_orders_are_refused_with_a_hint(tmp_path: Path) -> None:
    one, two = report(tmp_path / "one", before()), report(tmp_path / "two", before()[1:])
    refused = run("compare", one, two)
    assert refused.exit_code == 1
    assert "1 only in one (a)" in refused.stderr
    assert "--limit" in refused.stderr


@pytest.mark.parametrize("text", ["{", '{"id": "a", "cart": {"lines": []}}'])
def test_a_folder_that_is_not_a_whole_report_is_refused(text: str, tmp_path: Path) -> None:
    broken = report(tmp_path / "broken", before())
    (broken / "predictions.jsonl").write_text(text)
    refused = run("compare", broken, broken)
    assert refused.exit_code == 1
    assert "broken is not a whole report" in " ".join(refused.stderr.split())
    assert "--report" in refused.stderr


def test_scoring_needs_a_menu_and_gold() -> None:
    refused = run()
    assert refused.exit_code == 2
    assert "--gold" in refused.stderr
