"""Which of several answers each way takes, and what is counted of them."""

from __future__ import annotations

from typing import Any

from tests.bench.masks.distortion import WAYS, chosen, summary


def answered(text: str, logprob: float, log_weight: float, *, right: bool = False) -> dict[str, Any]:
    return {"text": text, "exact": right, "failure": "", "logprob": logprob, "log_weight": log_weight}


GREEDY = answered("g", -4.0, -1.0)
# Two draws of one text outweigh a third one together; the likeliest of all was drawn once.
DRAWS = [answered("a", -9.0, -2.0), answered("b", -2.0, -1.6, right=True), answered("a", -9.0, -2.0)]


def test_each_way_takes_its_own() -> None:
    found = chosen(GREEDY, DRAWS, seed=1)
    assert {way: found[way]["text"] for way in ("greedy", "likeliest", "drawn", "vote")} == {
        "greedy": "g", "likeliest": "b", "drawn": "a", "vote": "a",
    }  # fmt: skip


def test_a_draw_is_taken_by_its_weight() -> None:
    heavy = [answered("light", -1.0, -50.0), answered("heavy", -60.0, 0.0)]
    assert {chosen(GREEDY, heavy, seed)["resampled"]["text"] for seed in range(50)} == {"heavy"}
    even = [answered("one", -1.0, -3.0), answered("other", -60.0, -3.0)]
    assert {chosen(GREEDY, even, seed)["resampled"]["text"] for seed in range(50)} == {"one", "other"}


def test_ways_are_held_against_greedy() -> None:
    rows = [{"id": "1", "greedy": GREEDY, "draws": DRAWS}, {"id": "2", "greedy": DRAWS[1], "draws": DRAWS}]
    found = summary(rows)
    assert (found["orders"], found["draws"]) == (2, 3)
    assert {way: found[way]["exact"] for way in WAYS} == {
        "greedy": 1, "likeliest": 2, "resampled": found["resampled"]["exact"], "drawn": 0, "vote": 0,
    }  # fmt: skip
    assert found["likeliest"]["won_lost_against_greedy"] == [1, 0]
    assert found["drawn"]["won_lost_against_greedy"] == [0, 1]
    assert found["likeliest_is_not_greedy"] == 1
