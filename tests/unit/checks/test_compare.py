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
from tests.unit.evaluation_rows import gold_row, prediction, write_rows

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
    rows = [judge(gold, predicted) for gold, predicted in zip(GOLD, predictions, strict=True)]
    write_report(folder, rows, about, asr_threshold=0.72)
    return folder


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(app, ["eval", *map(str, words)])


def test_folders_are_compared_by_themselves(tmp_path: Path) -> None:
    one, two = report(tmp_path / "one", before()), report(tmp_path / "two", after(), condition="new")
    done = run("compare", one, two, "--report", tmp_path / "out")
    assert done.exit_code == 0, done.output
    found = json.loads((tmp_path / "out" / "comparison.json").read_text())
    assert done.stdout.startswith(json.dumps(found, indent=2))
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
    assert exact["p"] == pytest.approx(2 * (1 + 6) / 64)
    low, high = exact["difference_ci"]
    assert -1 <= low < -0.5 < high <= 0.25
    assert found["tests"]["silent errors"]["p"] == pytest.approx(2 * (1 + 6) / 64)
    assert found["b"]["about"] == {"condition": "new"}
    assert "Right to wrong" in (tmp_path / "out" / "index.html").read_text()
    assert str(tmp_path) not in (tmp_path / "out" / "index.html").read_text()


def test_bare_predictions_need_their_gold(tmp_path: Path) -> None:
    one = write_rows(tmp_path / "one.jsonl", before())
    two = report(tmp_path / "two", before())
    refused = run("compare", one, two)
    assert refused.exit_code == 1
    assert "--gold" in refused.stderr
    done = run("compare", one, two, "--gold", write_rows(tmp_path / "gold.jsonl", GOLD))
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["tests"]["exact carts"]["p"] == 1


def test_runs_over_other_orders_are_refused_with_a_hint(tmp_path: Path) -> None:
    gold = write_rows(tmp_path / "gold.jsonl", GOLD)
    one = write_rows(tmp_path / "one.jsonl", before())
    two = write_rows(tmp_path / "two.jsonl", before()[1:])
    refused = run("compare", one, two, "--gold", gold)
    assert refused.exit_code == 1
    assert "1 only in one (a)" in refused.stderr
    assert "--limit" in refused.stderr


@pytest.mark.parametrize(
    ("text", "says"), [("{", "line 1"), ("[]", "line 1"), ('{"id": "a", "gold": {"lines": []}}', "line 1")]
)
def test_a_broken_file_is_refused_with_its_line(text: str, says: str, tmp_path: Path) -> None:
    broken = tmp_path / "broken.jsonl"
    broken.write_text(text)
    refused = run("compare", broken, broken)
    assert refused.exit_code == 1
    assert says in refused.stderr


def test_a_doubled_id_is_refused(tmp_path: Path) -> None:
    gold = write_rows(tmp_path / "gold.jsonl", GOLD)
    twice = write_rows(tmp_path / "twice.jsonl", [*before(), prediction("a")])
    assert "'a' twice" in run("compare", twice, twice, "--gold", gold).stderr


def test_hostile_words_stay_words(tmp_path: Path) -> None:
    rows = after()
    rows[0]["transcript"] = rows[0]["cart"]["lines"][0]["sku"] = "<script>"
    one, two = report(tmp_path / "one", before()), report(tmp_path / "two", rows, menu="<script>")
    assert run("compare", one, two, "--report", tmp_path / "out").exit_code == 0
    text = (tmp_path / "out" / "index.html").read_text()
    assert "<script" not in text
    assert "&lt;script&gt;" in text


def test_scoring_needs_a_menu_and_gold() -> None:
    refused = run()
    assert refused.exit_code == 2
    assert "--gold" in refused.stderr
