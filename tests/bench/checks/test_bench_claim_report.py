"""The claim's report: its figures, verdicts and arithmetic, from rows made by hand."""

from __future__ import annotations

import gzip
import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from infra.settings import REPOSITORY
from services.evaluation.statistics import wilson
from tests.bench.claim import report
from tests.bench.claim.__main__ import able, run
from tests.bench.claim.cells import Cell, Setting, cells_of
from tests.bench.claim.figures import compared, figures, parts_of_the_gain
from tests.bench.claim.nines import day, needed, upper_bound
from tests.bench.claim.outcomes import Outcome
from tests.bench.claim.spoken import Spoken, recordings
from tests.bench.claim.tables import tables
from tests.bench.claim.verdicts import of_ratio, of_rest, of_share, of_wrong
from tests.bench.techniques.report import markdown

PARTS = ("the claim", "failures and carts", "time and tokens", "what the gain is made of")
ONE = Outcome(
    id="", failure=None, first_failure=None, strict=None, exact=True, items=1, wrong=0, unknown=0,
    astray=False, passed=True, asked=True, fenced=False, calls=1, prompt_tokens=100, cached_tokens=80,
    tokens=20, repair_tokens=0, repair_prompt_tokens=0, repair_s=0.0, heard_s=1.0, rest_s=2.0,
)  # fmt: skip
REPAIRED = replace(
    ONE, first_failure="size by name", exact=False, wrong=1, astray=True, calls=2, tokens=50,
    repair_tokens=30, repair_prompt_tokens=150, repair_s=3.0, rest_s=5.0,
)  # fmt: skip


def cell(*rows: Outcome) -> list[Outcome]:
    return [replace(row, id=f"x-{number}") for number, row in enumerate(rows)]


def test_figures_of_a_cell() -> None:
    gone = replace(
        REPAIRED, failure="no JSON", strict="no JSON", items=0, passed=False, astray=False, calls=3
    )
    found = figures(cell(ONE, ONE, REPAIRED, gone))
    assert found["first_answer_failures"] == {"hits": 2, "of": 4, "ci": wilson(2, 4)}
    assert (found["failures"]["hits"], found["first_kinds"]) == (1, {"size by name": 2})
    assert found["last_kinds"] == {"no JSON": 1}
    assert (found["repaired"]["hits"], found["repair_tokens"], found["repair_s"]) == (2, 60, 6.0)
    assert (found["repaired_exact"], found["repaired_empty"]) == (0, 0)
    assert (found["passed"]["hits"], found["silent"]["hits"]) == (3, 1)
    assert (found["items"], found["wrong_items"]) == (3, 1)  # of the carts alone
    assert (found["calls"], found["tokens"]) == (1.75, 35.0)
    assert found["total"]["p50"]["s"] == 3.0
    assert found["total"]["p95"]["s"] == 6.0
    assert found["after_hearing"]["p95"]["s"] == 5.0


def test_cells_are_compared_on_the_orders_that_both_have() -> None:
    old = cell(REPAIRED, REPAIRED, ONE, ONE)
    new = cell(ONE, ONE, ONE)
    found = compared(old, new)
    assert found is not None
    assert found["orders"] == 3
    p95 = found["total_p95"]
    assert (p95["before"], p95["after"], p95["ratio"]) == (6.0, 3.0, 0.5)
    assert (found["exact"]["before"], found["exact"]["after"], found["exact"]["p"]) == (1, 3, 0.5)
    assert (found["wrong_items"]["only_before"], found["wrong_items"]["only_after"]) == (2, 0)
    assert compared(old, [replace(ONE, id="another")]) is None


def test_the_steps_of_the_gain_add_up() -> None:
    settled, open_one = replace(ONE, asked=False, rest_s=0.0), replace(ONE, heard_s=2.0, rest_s=1.5)
    cells = {
        "old": cell(REPAIRED, ONE),
        "masked": cell(replace(ONE, rest_s=1.8), replace(ONE, rest_s=1.8)),
        "ours-whole": cell(replace(ONE, rest_s=4.0), replace(ONE, heard_s=2.0, rest_s=4.0)),
        "ours": cell(settled, open_one),
    }
    found = parts_of_the_gain(cells)
    assert found is not None
    steps = {"repairs": 1.5, "mask": 0.2, "hearing": -0.5, "form": -2.2, "settled": 2.0, "jumped": 1.25}
    assert found["steps"] == pytest.approx(steps)
    assert sum(found["steps"].values()) == pytest.approx(found["saved_s"])
    assert found["saved_s"] == pytest.approx(4.5 - 2.25)
    assert sum(found["shares"].values()) == pytest.approx(1, abs=0.01)
    assert found["p95_s"]["old"] == 6.0
    assert found["p95_s"]["old without repairs"] == 3.0
    assert parts_of_the_gain({**cells, "masked": []}) is None
    assert parts_of_the_gain({**cells, "ours": [replace(ONE, id="another")]}) is None


def test_a_gain_that_is_a_loss_has_no_shares() -> None:
    slow = cell(replace(ONE, rest_s=9.0))
    found = parts_of_the_gain({"old": cell(ONE), "masked": cell(ONE), "ours-whole": slow, "ours": slow})
    assert found is not None
    assert (found["saved_s"], found["shares"]) == (-7.0, None)


def test_the_arithmetic_of_nines() -> None:
    found = day(10_000, 0.068)
    assert (found.failures, found.hours_between) == (pytest.approx(680), pytest.approx(24 / 680))
    assert day(10_000, 0.0).hours_between == math.inf
    for share, calls in ((-0.1, 1), (1.1, 1), (0.5, -1)):
        with pytest.raises(ValueError, match="share"):
            day(calls, share)


def test_what_clean_orders_show() -> None:
    # The rule of three, and the exact figures: 1 - 0.05 ** (1 / N).
    assert upper_bound(300) == pytest.approx(0.00994, abs=1e-5)
    assert upper_bound(10_000) == pytest.approx(3 / 10_000, rel=0.01)
    assert upper_bound(0) == 1
    assert needed(0.0004) == 7488
    assert upper_bound(needed(0.0004)) <= 0.0004 < upper_bound(needed(0.0004) - 1)
    for share in (0.0, 1.0):
        with pytest.raises(ValueError, match="between"):
            needed(share)


def test_verdicts_say_what_the_interval_allows() -> None:
    assert (of_share(0.068, 7, 100), of_share(0.068, 30, 100), of_share(0.068, 0, 100)) == (
        "fits", "more here", "less here",
    )  # fmt: skip
    assert of_rest(0.0004, 0, 8000) == "confirmed"
    assert of_rest(0.0004, 0, 100).startswith("not shown: none of 100 allows up to 3.0%; 7,488")
    assert of_rest(0.0004, 5, 100) == "more here"
    told = {
        ci: of_ratio(0.58, {"ci": ci}, 20)
        for ci in ((0.5, 0.7), (0.2, 0.4), (0.7, 0.9), (0.5, 1.2), (1.1, 2))
    }
    assert list(told.values()) == [
        "fits", "confirmed, by more", "faster, by less than claimed",
        "not shown: the interval holds both faster and slower", "refuted here: ours is slower",
    ]  # fmt: skip
    assert of_ratio(0.58, {"ci": (0.5, 0.7)}, 19) == "not shown: of 19 orders p95 is the slowest one"
    change = {"of": 20, "only_before": 1, "only_after": 1, "p": 1.0, "difference_ci": (-0.1, 0.1)}
    assert of_wrong(change) == "not told from no change (p = 1.00)"
    assert of_wrong({**change, "p": 0.01, "only_before": 9}) == "fewer"
    assert of_wrong({**change, "p": 0.01, "only_after": 9}) == "more"
    assert of_wrong({"of": 0}).startswith("no order")


@pytest.mark.parametrize("method", ["old", "masked", "masked-item", "ours", "ours-whole", "ours-reader"])
@pytest.mark.parametrize(
    "at", [Setting("clean", 0.0, 1), Setting("babble-10", 0.7, 8), Setting("babble-20", 0.7, 8, 0)]
)
def test_a_cell_is_known_by_the_name_of_its_file(method: str, at: Setting) -> None:
    assert Cell.named(Cell(method, at).name) == Cell(method, at)
    assert Cell.named("about") is None


class Counts:
    """A pipeline that remembers what it was asked for."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.warmed: list[str] = []

    def warm(self, menu: Any) -> None:
        self.warmed.append(menu.id)

    def row(self, one: Spoken, file: Path) -> dict[str, Any]:
        self.asked.append(one.id)
        return {"id": one.id}


def test_a_run_goes_on_where_it_stopped(tmp_path: Path) -> None:
    file, orders = tmp_path / "old-clean-T0-x1.jsonl", [(one, one.file) for one in recordings()[:9]]
    first, second, third = Counts(), Counts(), Counts()
    assert run({file: first}, orders[:4], 1, math.inf)  # type: ignore[dict-item]
    file.write_text(file.read_text() + '{"id": "hc-t-0')  # as a kill leaves it
    assert run({file: second}, orders, 2, math.inf)  # type: ignore[dict-item]
    assert sorted(first.asked + second.asked) == sorted(one.id for one, _ in orders)
    assert (first.warmed, second.warmed) == (["harbor-coffee"], ["harbor-coffee"] * 2)  # each slot
    assert len(cells_of(tmp_path)[Setting("clean", 0.0, 1)]["old"]) == 9
    assert run({file: third}, orders, 1, math.inf)  # type: ignore[dict-item]
    assert not run({tmp_path / "ours-clean-T0-x1.jsonl": third}, orders, 1, 0.0)  # type: ignore[dict-item]
    assert third.asked == []


def results(folder: Path) -> Path:
    """Rows of two pipelines on one engine: a repaired order, and one that is settled without a model."""
    one = next(r for r in recordings() if r.id == "hc-t-001")
    text = '{"items":[{"item":"latte","quantity":1,"size":"%s"}]}'

    def answer(size: str) -> dict[str, Any]:
        counts = {"prompt_tokens": 100, "cached_tokens": 50, "completion_tokens": 20, "seconds": 1.0}
        return {"text": text % size, "finish": "stop", **counts}

    base = {"id": one.id, "menu": one.menu.id, "heard_s": 1.0, "heard": "A small latte."}
    gold = {"lines": [{"kind": "item", "heard": "a small latte", **line} for line in one.gold]}
    rows = {
        "old": {**base, "rest_s": 2.0, "answers": [answer("small"), answer("S")]},
        "ours": {**base, "rest_s": 0.1, "answers": [], "cart": gold, "decision": "accept", "reasons": []},
    }
    made = folder / "llama.cpp-tiny"
    made.mkdir()
    (made / "about.json").write_text('{"model": "tiny"}')
    for method, row in rows.items():
        (made / f"{method}-clean-T0-x1.jsonl").write_text(json.dumps(row) + "\n")
    return folder


def test_the_report_is_made_from_rows_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "docs"
    argv = ["report", "--results", str(results(tmp_path)), "--out", str(out), "--pack"]
    monkeypatch.setattr("sys.argv", argv)
    assert report.main() == 0
    shown = capsys.readouterr().out
    assert "| llama.cpp, tiny | clean, T = 0, 1 in flight | 1 | 1, –, 0 | 0 | 1, –, 1, – |" in shown
    assert "### llama.cpp-tiny: clean, T = 0, 1 in flight: the claim" in shown
    assert "| 6.8% fail validation | 1 of 1 first answers (20.6% to 100.0%) | more here |" in shown
    assert "| no repair tokens | 20 tokens and 1.0 s on 1 of 1 orders before (of these 1 then exact" in shown
    assert "| old: prompt, parse, repair | 1 of 1 (20.6% to 100.0%) | 1 size by name | 0 |" in shown
    assert "| 6.80% (claimed before) | 10,000 | 680.0 | 2 min | 81,600, 0.2 |" in shown
    told = json.loads((out / "claim.json").read_text())
    cells = told["engines"]["llama.cpp-tiny"]["settings"][0]["cells"]
    assert (cells["old"]["total"]["p50"]["s"], cells["ours"]["total"]["p50"]["s"]) == (3.0, 1.1)
    kept = gzip.decompress((out / "rows" / "llama.cpp-tiny.jsonl.gz").read_bytes()).decode().splitlines()
    assert [json.loads(line).get("cell") for line in kept] == [None, "old-clean-T0-x1", "ours-clean-T0-x1"]

    argv = ["report", "--results", str(tmp_path / "again"), "--out", str(out), "--unpack"]
    monkeypatch.setattr("sys.argv", argv)
    assert report.main() == 0
    assert capsys.readouterr().out == shown
    again = tmp_path / "again" / "llama.cpp-tiny"
    for file in (tmp_path / "llama.cpp-tiny").glob("*.jsonl"):
        assert (again / file.name).read_text() == file.read_text()


def test_the_tables_of_the_document_are_those_of_the_figures() -> None:
    folder = REPOSITORY / "docs" / "benchmarks" / "claim"
    page = (folder / "README.md").read_text()
    made = dict(tables(json.loads((folder / "claim.json").read_text())))
    model = "llama.cpp-qwen2.5-coder-1.5b-instruct-q4_k_m: clean, T = 0, 1 in flight"
    shown = ["all settings", "the arithmetic of nines", *(f"{model}: {part}" for part in PARTS)]
    missing = {title: row for title in shown for row in markdown(made[title]).splitlines() if row not in page}
    assert missing == {}


def test_without_rows_the_report_says_what_to_run(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("sys.argv", ["report", "--results", str(tmp_path), "--out", str(tmp_path)])
    assert report.main() == 2
    assert "make bench-claim" in capsys.readouterr().err


def test_the_greedy_reader_is_not_asked_at_another_temperature() -> None:
    methods = ["old", "ours-reader"]
    assert able(methods, 0.7, embedded=True) == ["old"]
    assert able(methods, 0.0, embedded=True) == able(methods, 0.7, embedded=False) == methods
