"""The mask has no way to say "urgent", gold is sane, and the judge and the confidence figure count right."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace
from typing import Any, get_args

import pytest
from llguidance import LLMatcher

from services.engines.masks.mask import BYTES
from services.examples.example import Row
from services.examples.triage.confidence import ahead, of_all, of_field, worth
from services.examples.triage.lures import counted
from services.examples.triage.schema import Category, Priority, ReasonedTriage, Triage
from services.examples.triage.task import EXAMPLE, HERE, REASONED, TRIAGE, right

ROWS = EXAMPLE.rows()
DEV = replace(EXAMPLE, gold=HERE / "dev.jsonl").rows()
TOLD = {"category": "login", "priority": "high", "needs_human": True, "confidence": 0.5}
BEGUN = '{"category":"login","priority":"'
REASON = '{"why":"locked out","category":"login","priority":"'


def written(value: dict[str, Any]) -> str:
    return json.dumps(value, separators=(",", ":"))


def texts_after(begun: str, end: str) -> set[str]:
    """All that any writer could put between `begun` and `end`, byte by byte, and not a sample of it."""
    found, ways = set(), [""]
    while ways:
        way = ways.pop()
        matcher = LLMatcher(BYTES, TRIAGE.output.mask.lark)
        assert matcher.consume_tokens(BYTES.tokenize_str(begun + way))
        allowed = matcher.compute_bitmask()
        for byte in (n for n in range(256) if allowed[n // 8] >> n % 8 & 1):
            if chr(byte) == end:
                found.add(way)
            else:
                ways.append(way + chr(byte))
    return found


@pytest.mark.parametrize(
    ("task", "text"),
    [
        (TRIAGE, BEGUN + "¦urgent"),
        (TRIAGE, BEGUN + "¦Urgent"),
        (TRIAGE, BEGUN + r"¦\u0075rgent"),
        (TRIAGE, BEGUN + "¦ urgent"),
        (TRIAGE, BEGUN + "high¦ urgent"),
        (TRIAGE, BEGUN + "h¦urgent"),
        (TRIAGE, '{"category":"¦urgent"'),
        (TRIAGE, '{"¦urgent":true'),
        (TRIAGE, BEGUN + 'high","¦urgent":true'),
        (TRIAGE, BEGUN[:-1] + "¦urgent"),
        (REASONED, REASON + "¦urgent"),
        (REASONED, REASON + "¦URGENT"),
    ],
)
def test_the_byte_at_which_urgent_is_refused(task: Any, text: str) -> None:
    begun, refused = text.split("¦")
    matcher = LLMatcher(BYTES, task.output.mask.lark)
    assert matcher.try_consume_tokens(BYTES.tokenize_str(begun + refused)) == len(begun)


def test_there_are_three_priorities_and_no_fourth_way_to_write_one() -> None:
    assert texts_after(BEGUN, end='"') == set(get_args(Priority)) == {"low", "medium", "high"}
    assert texts_after('{"category":"', end='"') == set(get_args(Category))


def test_what_a_model_thinks_aloud_may_hold_the_word() -> None:
    """The reason is free text, and a ticket may be quoted in it; what is decided is not."""
    assert REASONED.output.mask.accepts(written({"why": "it says urgent", **TOLD}))


@pytest.mark.parametrize(
    "change",
    [
        {"priority": "urgent"},
        {"priority": "High"},
        {"priority": None},
        {"category": "refund"},
        {"needs_human": "true"},
        {"needs_human": 1},
        {"confidence": 1.05},
        {"confidence": -0.05},
        {"confidence": 0.87},
        {"confidence": "high"},
        {"more": 1},
    ],
)
def test_near_misses_are_refused(change: dict[str, Any]) -> None:
    assert TRIAGE.output.mask.accepts(written(TOLD))
    assert not TRIAGE.output.mask.accepts(written({**TOLD, **change}))


def test_no_reason_is_longer_than_its_bound() -> None:
    assert REASONED.output.mask.accepts(written({"why": "x" * 160, **TOLD}))
    assert not REASONED.output.mask.accepts(written({"why": "x" * 161, **TOLD}))


@pytest.mark.parametrize("step", range(21))
def test_every_step_of_confidence_can_be_written_and_is_read(step: int) -> None:
    text = written({**TOLD, "confidence": round(step * 0.05, 2)})
    assert TRIAGE.output.mask.accepts(text)
    assert TRIAGE.output.read(text).confidence == pytest.approx(step / 20)


def test_gold_can_be_written_and_is_right_by_the_judge() -> None:
    for row in (*ROWS, *DEV):
        text = written({**row.gold, "confidence": 1})
        assert TRIAGE.output.mask.accepts(text), row.id
        assert all(right(TRIAGE.output.read(text), row).values()), row.id


def test_gold_has_200_tickets_of_every_kind_and_none_twice() -> None:
    assert (len(ROWS), len(DEV)) == (200, 40)
    shown = {said for task in EXAMPLE.tasks for said, _ in task.examples}
    texts = [row.text for row in (*ROWS, *DEV)]
    assert len({text.lower() for text in (*texts, *shown)}) == len(texts) + len(shown)
    assert len({row.id for row in (*ROWS, *DEV)}) == 240
    for field, values in (("category", get_args(Category)), ("priority", get_args(Priority))):
        found = Counter(row.gold[field] for row in ROWS)
        assert set(found) == set(values)
        assert min(found.values()) >= 20
    for style in ("short", "angry", "rambling", "polite", "mixed", "typos", "lure", "injection"):
        assert sum(row.more["style"] == style for row in ROWS) >= 8


def test_gold_follows_the_guide_where_it_is_a_rule() -> None:
    """Wishes and questions are low; what is high needs a human, but for a date or an outage."""
    for row in (*ROWS, *DEV):
        if row.gold["category"] in ("feature_request", "product"):
            assert row.gold["priority"] == "low", row.id
        if row.gold["priority"] == "high" and not row.gold["needs_human"]:
            assert row.gold["category"] in ("delivery", "bug"), row.id


def test_the_judge_marks_each_decision() -> None:
    gold = {"category": "login", "priority": "high", "needs_human": False}
    marks = right(Triage(**TOLD), Row("t1", "", gold, {}))
    assert marks == {"category": True, "priority": True, "needs_human": False, "right": False}
    assert right(ReasonedTriage(why="", **TOLD), Row("t1", "", {**gold, "needs_human": True}, {}))["right"]


def kept(confidence: float, held: float, mark: bool, failure: str = "") -> dict[str, Any]:
    probability = {"/category": held, "/priority": 0.5, "/needs_human": 1.0}
    return {
        "failure": failure,
        "value": {"confidence": confidence},
        "probability": probability,
        "marks": {"right": mark, "category": mark},
    }


def test_a_confidence_that_is_always_the_same_is_worth_a_coin() -> None:
    answers = [kept(0.9, 0.1 * n, mark=n > 4) for n in range(10)]
    found = worth(answers, "category", of_field("category"))
    assert (found.rows, found.right, found.values) == (10, 5, 1)
    assert (found.stated, found.probability) == (0.5, 1.0)
    assert found.ahead == (0.5, 0.5)
    assert of_all(answers[4]) == pytest.approx(0.2)


def test_what_failed_has_no_confidence() -> None:
    answers = [kept(0.9, 0.9, mark=True), kept(0.1, 0.1, mark=False, failure="cut off")]
    found = worth(answers, "right", of_all)
    assert (found.rows, found.probability, found.ahead) == (1, None, (0.0, 0.0))


def test_two_signals_that_order_alike_are_equally_good() -> None:
    right_ones = [n % 3 == 0 for n in range(30)]
    signal = [n % 7 / 7 for n in range(30)]
    assert ahead(signal, [2 * one for one in signal], right_ones) == (0.0, 0.0)
    low, high = ahead(signal, [n % 5 / 5 for n in range(30)], right_ones)
    assert low < high


def test_what_a_lure_does_is_counted_by_style() -> None:
    told = [("t1", "lure", "low"), ("t2", "injection", "low"), ("t3", "angry", "high")]
    rows = {
        name: Row(name, "", {**TOLD, "priority": priority}, {"style": style})
        for name, style, priority in told
    }
    answers = [
        {"id": "t1", "failure": "", "value": {"priority": "high"}},
        {"id": "t2", "failure": "not of the form", "text": '{"priority": "Urgent"}'},
        {"id": "t3", "failure": "", "value": {"priority": "low"}},
    ]
    found = counted(answers, rows)
    assert +found["lure"] == Counter(rows=1, raised=1)
    assert +found["injection"] == Counter(rows=1, refused=1, urgent=1)
    assert +found["plain"] == Counter(rows=1, lowered=1)
