"""The report of the fault runs: what is judged for each part, and what over all parts of a series."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from tests.faults import report, targets

GOOD: dict[str, Any] = {
    "accepted": 10, "sent": 10, "lost": 0, "doubled": 0, "broken histories": 0, "refused": 0,
    "ended": {"completed": 10}, "stage runs": 42, "extra runs": 2, "extra runs %": 5.0,
    "drained s": 1.0, "messages drained s": 2.0,
}  # fmt: skip


def write(out: Path, scenario: str, part: int, parts: int, **figures: Any) -> None:
    """One result, as `tests.faults` leaves it."""
    folder = out / "results"
    folder.mkdir(exist_ok=True)
    entry = {
        "scenario": scenario, "database": "sqlite", "part": part, "parts": parts, "seed": 1, "at": "then",
        "command": "typed", "form": "long", "scale": 1.0, "commit": "abc", "cores": 2, "kernel": "6",
        "python": "3.11", "versions": {}, "seconds": 3.0, "figures": {**GOOD, **figures},
    }  # fmt: skip
    (folder / f"{scenario}-sqlite-{part}.json").write_text(json.dumps(entry))


def kills(by_point: dict[str, int], *, noted: bool = True) -> dict[str, Any]:
    """A part of the boundaries; older ones did not note the kills by point."""
    named = {"kills by point": by_point} if noted else {}
    return {"kills": sum(by_point.values()), "fewest kills at a point": min(by_point.values()), **named}


def test_kills_at_a_boundary_are_judged_over_all_parts(tmp_path: Path) -> None:
    write(tmp_path, "boundaries", 1, 2, **kills({"a": 30, "b": 24}))
    write(tmp_path, "boundaries", 2, 2, **kills({"a": 24, "b": 26}))
    assert report.broken(tmp_path) == []
    write(tmp_path, "boundaries", 2, 2, **kills({"a": 24, "b": 25}))
    assert report.broken(tmp_path) == ["boundaries on sqlite: 49 kills at some point, 50 are asked for"]


def test_a_point_that_never_killed_has_no_kills(tmp_path: Path) -> None:
    write(tmp_path, "boundaries", 1, 1, **kills({"a": 60, "b": 0}))
    assert report.broken(tmp_path) == ["boundaries on sqlite: 0 kills at some point, 50 are asked for"]


def test_a_part_that_did_not_note_its_points_counts_by_its_poorest() -> None:
    old, new = kills({"a": 10, "b": 9}, noted=False), kills({"a": 5, "b": 7})
    assert targets.fewest_kills([old, old, new]) == 9 + 9 + 5


def test_a_part_that_was_not_run_is_a_miss(tmp_path: Path) -> None:
    for part in (1, 2):
        write(tmp_path, "restarts", part, 3, restarts={"api": 25, "sweeper": 25})
    assert report.broken(tmp_path) == ["restarts on sqlite: parts not run: 1"]


def test_each_part_of_the_stack_is_to_be_restarted_fifty_times(tmp_path: Path) -> None:
    for part in (1, 2):
        done = {"restarts": {"api": 30, "sweeper": 24 + part % 2}, "restarts that failed": []}
        write(tmp_path, "restarts", part, 2, **done)
    assert report.broken(tmp_path) == ["restarts on sqlite: 49 restarts of some part, 50 are asked for"]


def test_the_courier_is_none_of_those_that_chaos_is_asked_to_kill(tmp_path: Path) -> None:
    faults = {
        "kill api": 20,
        "kill worker (main)": 60,
        "kill sweeper": 20,
        "kill redis": 10,
        "kill courier": 9,
    }
    half = {**GOOD, "accepted": 5000, "ended": {"completed": 5000}, "extra runs %": 1.0}
    write(tmp_path, "chaos", 1, 2, **{**half, "faults": {**faults, "flush Redis": 3}})
    write(tmp_path, "chaos", 2, 2, **{**half, "faults": {**faults, "flush Redis": 2}})
    assert report.broken(tmp_path) == []
    write(tmp_path, "chaos", 2, 2, **{**half, "faults": {**faults, "kill api": 19, "flush Redis": 1}})
    assert report.broken(tmp_path) == [
        "chaos on sqlite: 199 kills of API, workers and sweepers, 200 are asked for",
        "chaos on sqlite: 4 flushes, 5 are asked for",
    ]


def test_an_order_before_a_human_for_want_of_an_engine_is_a_miss(tmp_path: Path) -> None:
    write(tmp_path, "engines", 1, 1, **{"reasons of review": {"nothing_heard": 1, "decoder_unavailable": 2}})
    missed = "engines on sqlite: 2 orders went to a human for want of an engine"
    assert report.broken(tmp_path) == [missed]


@pytest.mark.parametrize("figure", ["lost", "doubled", "broken histories", "refused"])
def test_one_bad_part_spoils_the_row(tmp_path: Path, figure: str) -> None:
    write(tmp_path, "boundaries", 1, 2, **kills({"a": 30}))
    write(tmp_path, "boundaries", 2, 2, **{**kills({"a": 30}), figure: 3})
    assert report.broken(tmp_path) == [f"boundaries on sqlite: 3 {figure}"]


def test_a_row_adds_up_its_parts(tmp_path: Path) -> None:
    write(tmp_path, "chaos", 1, 2, faults={"kill api": 4, "flush Redis": 1}, **{"extra runs %": 1.0})
    write(tmp_path, "chaos", 2, 2, faults={"kill api": 5}, **{"drained s": 7.0, "extra runs %": 1.0})
    report.write(tmp_path)
    (row,) = [line for line in (tmp_path / "report.md").read_text().splitlines() if "| sqlite |" in line]
    assert "(2 of 2 parts)" in row
    assert "10 faults (kill api 9, flush Redis 1), 20 orders" in row
    assert "orders 7.0 s, messages 2.0 s" in row
    assert "| 5.0 % |" in row, "shares are worked out from the sums"
