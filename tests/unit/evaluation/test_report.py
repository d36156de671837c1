"""A run's figures and its report: right sums, and nothing of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings
from services.learning.evaluation.figures import Scored, figures, judge
from services.learning.evaluation.report import write_report
from services.learning.evaluation.run import read_rows
from services.learning.evaluation.session import EvalRequest, EvalRun
from tests.stand_ins import CAFE
from tests.unit.evaluation_rows import gold_row, prediction

OAT = {"group": "milk", "id": "oat", "amount": "normal", "count": 1}
FOAM = {"group": "foam", "id": "foam", "amount": "extra", "count": 1}


def line(sku: str = "latte", quantity: int = 1, size: str | None = None, *options: Any) -> dict[str, Any]:
    return {"sku": sku, "quantity": quantity, "size": size, "options": list(options)}


@pytest.mark.parametrize(
    ("gold", "predicted", "exact"),
    [
        ([line(quantity=2)], [line(), line()], True),
        ([line("a"), line("b")], [line("b"), line("a")], True),
        ([line("latte", 1, None, OAT, FOAM)], [line("latte", 1, None, FOAM, OAT)], True),
        ([line("latte", 1, None, OAT)], [line("latte", 1, None, {"group": "milk", "id": "oat"})], True),
        ([line()], [{"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1}], True),
        ([line()], [], False),
        ([line()], [line(size="L")], False),
        ([line("latte", 1, None, FOAM)], [line("latte", 1, None, FOAM | {"amount": "light"})], False),
        ([line()], [line(), {"kind": "not_on_menu", "heard": "x", "quantity": 1}], False),
    ],
)
def test_equal_carts(gold: list[Any], predicted: list[Any], exact: bool) -> None:
    made = prediction("a") | {"cart": {"lines": predicted}}
    assert judge({"id": "a", "cart": {"lines": gold}}, made).exact is exact


@pytest.mark.parametrize(
    "row", ["{", '{"id": 1, "cart": {"lines": []}, "utterance": "x"}', '{"id": "a", "cart": {"lines": []}}']
)
def test_a_broken_row_is_an_error_with_its_line(row: str, tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": "ok", "utterance": "x", "cart": {"lines": []}}\n' + row + "\n")
    assert [found["id"] for found in read_rows(gold) if "error" in found] == ["line 2"]


def test_utterances_are_read_as_an_order_reads_them(tmp_path: Path) -> None:
    gold = tmp_path / "gold.jsonl"
    gold.write_text('{"id": "a", "utterances": ["a latte", "make it large"], "cart": {"lines": []}}\n')
    assert [row["utterance"] for row in read_rows(gold)] == ["a latte. make it large."]


def rows() -> list[Scored]:
    """Right and accepted, right and asked, wrong and asked, wrong and accepted."""
    return [
        judge(gold_row("a", utterance="a large latte"), prediction("a", confidence=0.9)),
        judge(gold_row("b"), prediction("b", confidence=0.6, review="vague_name")),
        judge(gold_row("c"), prediction("c", "mocha", confidence=0.5, review="not_on_menu")),
        judge(
            gold_row("d", utterance="one latte please"),
            prediction("d", "mocha", confidence=0.8, transcript="1 mocha please"),
        ),
    ]


def test_figures() -> None:
    found = figures(rows())
    assert (found["rows"], found["exact_carts"], found["reviews"], found["silent_errors"]) == (4, 2, 2, 1)
    assert (found["exact_share"], found["review_share"], found["silent_share"]) == (0.5, 0.5, 0.25)
    assert found["silent_ci"] == pytest.approx((0.0456, 0.6994), abs=1e-4)
    assert found["needless_reviews"] == 1
    assert (found["after_answers"]["exact"], found["after_answers"]["to a human"]) == (2, 2)
    assert found["reviews_by_cause"] == {
        "not_on_menu": {"reviews": 1, "needless": 0},
        "vague_name": {"reviews": 1, "needless": 1},
    }


def test_word_errors_are_of_rows_that_were_transcribed_and_are_known() -> None:
    # "large" was left out of three words, "latte" was exchanged of three.
    assert figures(rows())["wer"] == pytest.approx(2 / 6, abs=1e-4)
    read = judge(gold_row("t", utterance="a latte"), prediction("t", ms={"transcribe": 0.0, "decode": 5.0}))
    assert figures([read])["wer"] is None


def test_times_leave_out_stages_that_were_not_reached() -> None:
    cut = prediction("e", ms={"transcribe": 500.0, "decode": 0.0, "validate": 0.0})
    ms = figures([*rows(), judge(gold_row("e"), cut)])["ms"]
    assert ms["decode"] == {"rows": 4, "p50": 3000.0, "p95": 3000.0}
    assert ms["total"] == {"rows": 5, "p50": 4002.0, "p95": 4002.0}


def test_a_report_says_what_was_run_and_names_no_path(tmp_path: Path) -> None:
    gold, folder = tmp_path / "gold.jsonl", tmp_path / "report"
    gold.write_text("abc")
    config = Settings(whisper_model=str(tmp_path / "base"))
    write_report(folder, gold, EvalRequest(CAFE, []), EvalRun(rows()), config, "abc")
    run = json.loads((folder / "figures.json").read_text())["about"]
    assert run["gold_sha256"] == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert run["settings"]["whisper_model"] == "base"
    stored = [json.loads(row) for row in (folder / "predictions.jsonl").read_text().splitlines()]
    assert [row["exact"] for row in stored] == [True, True, False, False]
    assert not [file for file in folder.iterdir() if str(tmp_path) in file.read_text()]
