"""The benches' figures, tables and plots, from rows made by hand."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from services.evaluation.statistics import wilson
from tests.bench.chat import Answer
from tests.bench.engine import report as engine_report
from tests.bench.engine.__main__ import Spent, rates
from tests.bench.engine.open_loop import point
from tests.bench.engine.pipeline_cost import ROUNDS, pipeline_cost
from tests.bench.orders import sample
from tests.bench.techniques import report
from tests.bench.techniques.__main__ import done
from tests.bench.techniques.rows import figures, paired


def row(number: int, *, exact: bool = True, failure: str | None = None, catalog: int = 0) -> dict[str, Any]:
    return {
        "id": f"x-{number}", "failure": failure, "first_failure": failure, "exact": exact,
        "catalog": ["unknown item"] * catalog, "words_not_said": catalog, "calls": 1 + bool(failure),
        "prompt_tokens": 100, "cached_tokens": 50, "completion_tokens": 10 * number, "seconds": float(number),
        "load": 1.0, "gold_lines": 2, "right_lines": 2 * exact,
        "exact_tidied": True,
    }  # fmt: skip


ROWS = [row(1), row(2, exact=False, catalog=2), row(3, exact=False, failure="no JSON"), row(4)]
BETTER = [row(1), row(2), row(3), row(4)]


def test_figures_count_failures_and_catalog_errors_apart() -> None:
    found = figures(ROWS)
    assert (found["orders"], found["parse_failures"], found["exact"]) == (4, 1, 2)
    assert found["failures_by_kind"] == {"no JSON": 1}
    assert found["with_catalog_errors"] == 1
    assert found["catalog_errors_by_kind"] == {"unknown item": 2}
    assert found["exact_ci"] == wilson(2, 4)
    assert (found["calls"], found["completion_tokens"]) == (1.25, 25.0)
    assert (found["seconds_p50"], found["seconds_p95"]) == (2.0, 4.0)


def test_pairs_are_of_orders_that_both_have() -> None:
    found = paired(ROWS, BETTER[:3])
    assert (found["orders"], found["only_before"], found["only_after"]) == (3, 0, 2)
    assert found["p"] == 0.5
    assert (found["exact_before"], found["exact_after"]) == (1, 3)
    assert (found["gold_lines"], found["right_lines_before"], found["right_lines_after"]) == (6, 2, 6)


def test_a_row_cut_short_is_asked_again(tmp_path: Path) -> None:
    file = tmp_path / "prompt-0.0.jsonl"
    file.write_text(json.dumps(row(1)) + "\n" + json.dumps(row(2))[:20])
    assert done(file) == {"x-1"}
    assert file.read_text() == json.dumps(row(1)) + "\n"
    assert done(tmp_path / "none.jsonl") == set()


def results(folder: Path) -> Path:
    """A run of three techniques and one form."""
    (folder / "about.json").write_text('{"model": "tiny"}')
    runs = {"prompt-0.0": ROWS, "schema-llguidance-0.0": ROWS, "evidence-0.0": BETTER, "evidence-0.7": BETTER}
    for name, rows in {**runs, "kind-last-0.0": BETTER}.items():
        (folder / f"{name}.jsonl").write_text("".join(json.dumps(one) + "\n" for one in rows))
    return folder


def test_the_report_has_tables_data_and_plots(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["report", "--results", str(results(tmp_path)), "--out", str(out)])
    assert report.main() == 0
    shown = capsys.readouterr().out
    assert (
        "| prompt only | 1 of 4 (4.6%–69.9%) | 1 no JSON | 2 (15.0%–85.0%) | 4 | 4 of 8 | 1 | 1.25 | 25 |"
        in shown
    )
    assert "| catalog errors | unknown item | carts with words that nobody said |" in shown
    assert "| prompt only | 2 | 1 |" in shown
    assert "| prompt only | 4 | 2 | 4 | 0 | 2 | 0.500 |" in shown
    assert "| kind last | 4 | 2 | 4 | 0 | 2 | 0.500 | 4, 8 of 8 | 0 | 0 | 25 |" in shown
    data = json.loads((out / "techniques.json").read_text())
    assert data["techniques"]["0.7"]["evidence"]["exact"] == 4
    for name in ("exact", "failures", "latency", "tokens"):
        ElementTree.parse(out / f"{name}.svg")


def test_without_results_the_report_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "about.json").write_text("{}")
    monkeypatch.setattr("sys.argv", ["report", "--results", str(tmp_path), "--out", str(tmp_path)])
    assert report.main() == 2
    assert "make bench-techniques" in capsys.readouterr().err


def test_a_compile_that_was_stopped_is_a_row_of_its_own() -> None:
    run = {
        "first_compile_ms": {"a": 1500.0, "b": 20.0}, "later_compile_ms_p50": 0.5, "peak_mib": 700,
        "mask_us": {"p50": 12.3, "p95": 50.0, "p99": 99.9},
    }  # fmt: skip
    table = report.mask_table({"xgrammar": run, "outlines": {"stopped": "not compiled within 180 s"}})
    assert table[1:] == [
        ["xgrammar", "1.5 s", "0.5 ms", "12 / 100 µs", "700 MiB"],
        ["outlines", "not compiled within 180 s", "–", "–", "–"],
    ]


def test_rates_show_what_was_refused_and_cut_off() -> None:
    answers = [Answer("{}", "stop", 100, 80, 10, 1.0), Answer("{", "length", 100, 80, 30, 3.0)]
    found = rates(Spent([*answers, Answer("no", "refused", 0, 0, 0, 0.1)], wall_s=4.0, cpu_s=8.0))
    assert (found["refused"], found["cut_off"]) == (1, 1)
    assert (found["tokens_per_s"], found["orders_per_s"], found["p95_s"]) == (10.0, 0.75, 3.0)
    assert (found["cached_share"], found["tokens_per_cpu_s"]) == (0.8, 5.0)


def test_the_engines_report_keeps_orders_texts_out(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    level = rates(Spent([Answer("{}", "stop", 100, 80, 10, 1.0)] * 8, wall_s=2.0, cpu_s=0.0))
    found = {
        "about": {"model": "tiny"},
        "load 1 masked": {**level, "tokens": [10] * 8, "texts": {"x-1": "secret"}},
        "load 1 free": level,
        "prefix off, first token": level,
        "arrivals llama.cpp tiny 0.5": point(0.5, [1.0, 2.0, 4.0, 8.0], [1.0, 3.0, 2.0, math.inf]),
        "highest llama.cpp tiny": {"2": None, "20": 0.375},
        "pipeline": {
            "1": {"orders": 160, "p50_ms": 8.0, "p95_ms": 12.0, "cpu_p50_ms": 7.0, "orders_per_s": 100.0}
        },
    }
    file = tmp_path / "engine.json"
    file.write_text(json.dumps(found))
    out = tmp_path / "out"
    monkeypatch.setattr("sys.argv", ["report", "--results", str(file), "--out", str(out)])
    assert engine_report.main() == 0
    shown = capsys.readouterr().out
    assert (
        "| in flight | mask | orders | tokens/s | a CPU s | orders/s | p50 / p95 s | tokens an order |"
        in shown
    )
    assert "| 1 | yes | 8 | 40.0 | – | 4.00 | 1.0 / 1.0 | 10 |" in shown
    assert "| off | 8 | 100 | 80% | 1.00 / 1.00 |" in shown
    assert "| llama.cpp tiny | 0.5 (0.5) | 4 | 1 | 0.5 | 2.0 | no cart | no cart |" in shown
    assert "| llama.cpp tiny | 2 s | none |" in shown
    assert "| llama.cpp tiny | 20 s | 0.375 |" in shown
    assert "| 1 | 160 | 8.0 / 12.0 | 7.0 | 100.0 |" in shown
    assert "secret" not in (out / "engine.json").read_text()
    ElementTree.parse(out / "engine.svg")


CROISSANTS = next(order for order in sample(10_000) if order.id == "hc-t-003")
LINE = '{"kind":"item","heard":"Two butter croissants, please.","sku":"butter croissant","quantity":2}'


def test_the_pipelines_cost_is_taken_on_orders_that_get_through() -> None:
    found = pipeline_cost([CROISSANTS], {CROISSANTS.id: f'{{"lines":[{LINE}]}}'})
    assert {threads: figures["orders"] for threads, figures in found.items()} == {"1": ROUNDS, "8": ROUNDS}


def test_an_answer_outside_the_mask_is_no_cheap_order() -> None:
    with pytest.raises(RuntimeError, match="decode_invalid"):
        pipeline_cost([CROISSANTS], {CROISSANTS.id: '{"lines":[]}'})
