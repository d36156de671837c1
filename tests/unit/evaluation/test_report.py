"""The figures of a run and its report, which has no paths of this machine."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from infra.settings import Settings
from services.learning.evaluation.figures import Scored, figures, judge, quantile, wilson
from services.learning.evaluation.report import write_report
from services.learning.evaluation.run import read_rows
from services.learning.evaluation.session import EvalRequest, EvalRun
from services.learning.evaluation.word_errors import word_errors
from tests.gate.compare import paired_interval
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
    # "large" is missing from three words, "latte" is wrong in three.
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


@pytest.mark.parametrize(
    ("hits", "rows", "ends"),
    [
        (8, 10, (0.4902, 0.9433)),
        (0, 10, (0.0, 0.2775)),
        (10, 10, (0.7225, 1.0)),
        (50, 100, (0.4038, 0.5962)),
        (0, 0, (0.0, 1.0)),
    ],
)
def test_wilson(hits: int, rows: int, ends: tuple[float, float]) -> None:
    assert wilson(hits, rows) == pytest.approx(ends, abs=1e-4)


def test_the_paired_bootstrap_of_gains_alone_is_binomial() -> None:
    """Five of ten rows gained: a binomial of 10 and a half has its 2.5% and 97.5% points at 2 and 8."""
    before = [True] * 3 + [False] * 7
    after = [True] * 8 + [False] * 2
    assert paired_interval(before, after) == (0.2, 0.8)
    assert paired_interval(after, before) == (-0.8, -0.2)
    assert paired_interval(before, before) == (0.0, 0.0)
    assert paired_interval([], []) == (0.0, 0.0)


def test_quantiles_are_values_that_occurred() -> None:
    assert [quantile([5, 1, 4, 2, 3], share) for share in (0.0, 0.5, 0.95)] == [1, 3, 5]
    assert quantile(range(1, 101), 0.95) == 95


@pytest.mark.parametrize(
    ("said", "heard"),
    [
        ("Two large lattes, please.", "2 large lattes please"),
        ("a twenty ounce drip", "A 20-ounce drip!"),
        ("twenty-five nuggets", "25 nuggets"),
        ("I'd like a café crème", "Id like a cafe creme"),
        ("I’d like two percent milk", "i'd like 2% milk"),
        ("twelve oz", "12oz"),
        ("room 100, zero or ninety", "room 100, 0 or 90"),
    ],
)
def test_another_way_of_writing_is_no_error(said: str, heard: str) -> None:
    assert word_errors(said, heard)[0] == 0


@pytest.mark.parametrize(
    ("said", "heard", "errors", "words"),
    [
        ("a dark roast latte", "a dark rose latte", 1, 4),
        ("a latte with oat milk", "latte with oat milk please", 2, 5),
        ("um a latte", "a latte", 1, 3),
        ("two lattes", "to lattes", 1, 2),
        ("a double latte", "2 latte", 2, 3),
        ("a latte", "", 2, 2),
        ("", "thank you", 2, 0),
    ],
)
def test_errors_are_counted(said: str, heard: str, errors: int, words: int) -> None:
    assert word_errors(said, heard) == (errors, words)
