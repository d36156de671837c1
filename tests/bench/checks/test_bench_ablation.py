"""The levers of the ablation do what their names say, its figures count right; no model is asked."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from schemas.errors import EngineUnavailable
from schemas.evidence import Evidence
from services.checks.one_cart import one_cart
from services.evaluation.statistics import wilson
from services.pipeline import kept_evidence
from tests.bench.ablation import report
from tests.bench.ablation.decoder import KeptCalls, lever_decoder
from tests.bench.ablation.levers import BY_NAME, FULL, LADDER, VARIANTS, unforced
from tests.bench.ablation.prompts import FROM_NOTE, PROMPTS, nearest, tuned
from tests.bench.engine.pipeline_cost import instant_engine
from tests.bench.orders import labels_of, menu_of


def evidence(variant: str, words: str) -> Evidence:
    with BY_NAME[variant].switched():
        return kept_evidence.read_order(words, menu_of("harbor-coffee"), 1)


def lines(found: Evidence) -> list[tuple[tuple[str, ...], tuple[int, ...], tuple[str, ...]]]:
    return [(line.items, line.quantities, line.sizes) for line in found.lines]


TAKEN_BACK = "a small latte, no, make that a large latte"
SPLIT = "three lattes, two large and one small"


@pytest.mark.parametrize(
    ("variant", "words", "read"),
    [
        ("full", TAKEN_BACK, [(("latte",), (1,), ("L",))]),
        ("corrections", TAKEN_BACK, [(("latte",), (1,), ("L",))]),
        ("sharing", SPLIT, [(("latte",), (2,), ("L",)), (("latte",), (1,), ("S",))]),
    ],
)
def test_a_rule_that_is_on_reads(variant: str, words: str, read: list[Any]) -> None:
    assert lines(evidence(variant, words)) == read


@pytest.mark.parametrize(("variant", "words"), [("evidence-mask", TAKEN_BACK), ("corrections", SPLIT)])
def test_a_rule_that_is_off_neither_settles_nor_marks(variant: str, words: str) -> None:
    found = evidence(variant, words)
    assert {size for line in found.lines for size in line.sizes} == {"S", "L"}
    assert not any((found.corrected, found.shared, found.likewise))


def test_what_is_only_noticed_is_a_doubt() -> None:
    assert evidence("noticed", TAKEN_BACK).corrected
    assert evidence("noticed", "a latte and a mocha, both with oat milk").shared


def test_switches_are_undone() -> None:
    before = evidence("full", TAKEN_BACK)
    for variant in VARIANTS:
        with variant.switched():
            pass
    assert evidence("full", TAKEN_BACK) == before


def test_without_force_the_same_values_are_open() -> None:
    forced = evidence("full", "two large lattes with oat milk")
    free = unforced(forced)
    assert one_cart(forced) is not None
    assert one_cart(free) is None
    assert (free.items, free.sizes, free.quantities) == (forced.items, forced.sizes, forced.quantities)
    assert not any(option.required for option in free.options)


def test_every_base_comes_before_its_variant_can_be_compared() -> None:
    names = {variant.name for variant in VARIANTS}
    assert {variant.base for variant in VARIANTS} - {""} <= names
    assert len(names) == len(VARIANTS)
    assert {LADDER[0].name, FULL.name} <= names
    assert {variant.prompt for variant in VARIANTS} == set(PROMPTS.values())


def test_similar_orders_leave_the_order_itself_out() -> None:
    known = tuned("harbor-coffee")
    for one in list(known.values())[:20]:
        near = nearest(one.said, known)
        assert len(near) == 3
        assert one.said not in {other.said for other in near}
        assert all(line.heard in other.said for other in near for line in other.draft.lines)


def row(ref: str, *, exact: bool, accepted: bool = False, sampled: bool = True) -> dict[str, Any]:
    return {
        "id": ref, "sampled": sampled, "decoded": sampled, "exact": exact, "accepted": accepted,
        "calls": int(sampled), "completion_tokens": 40, "gold_lines": 2, "right_lines": 2 * exact,
        "reasons": [], "codes": [],
    }  # fmt: skip


def test_figures_keep_what_was_asked_apart_from_what_was_read(tmp_path: Path) -> None:
    base = [row("a", exact=True), row("b", exact=False), row("c", exact=False)]
    full = [
        row("a", exact=False, accepted=True), row("b", exact=True), row("c", exact=True),
        row("d", exact=True, accepted=True, sampled=False), row("e", exact=False, sampled=False),
    ]  # fmt: skip
    for name, rows in (("sharing", base), ("full", full)):
        (tmp_path / f"{name}.jsonl").write_text("".join(json.dumps(r) + "\n" for r in rows))
    found = report.gather(tmp_path)
    figures = found["variants"]["full"]
    assert (figures["orders"], figures["exact"], figures["exact_ci"]) == (3, 2, wilson(2, 3))
    assert (figures["read"], figures["accepted"], figures["silent"]) == (5, 2, 1)
    against = {"orders": 3, "exact_before": 1, "lost": ["a"], "gained": ["b", "c"], "p": 1.0}
    assert figures["against_base"] == against
    assert found["ids"]["full"]["accepted_wrong"] == ["a"]
    (shown,) = report.table(found["variants"], [FULL])[1:]
    assert shown[3:6] == ["D: 1 of 3", "1, 2", "1.000"]


def test_an_answer_is_kept_and_a_note_is_a_call_of_its_own(tmp_path: Path) -> None:
    found = evidence("full", "two large lattes with oat milk")
    cart = one_cart(found)
    assert cart is not None
    with instant_engine({FROM_NOTE: labels_of("harbor-coffee").to_wire(cart)}) as url:
        calls = KeptCalls(url, tmp_path / "answers")
        decoder = lever_decoder(url, "instant", calls)
        assert decoder.decode(found).draft == cart
        assert calls.calls == 0  # the words leave one cart, and nobody is asked
        decoder.variant = BY_NAME["prompt-scratchpad"]
        assert decoder.decode(found).draft == cart
        assert calls.calls == 2
    again = KeptCalls(url, tmp_path / "answers", timeout_s=0.5)  # its server answers no more
    decoder = lever_decoder(url, "instant", again)
    decoder.variant = BY_NAME["prompt-scratchpad"]
    assert decoder.decode(found).draft == cart
    decoder.variant = BY_NAME["prompt-no-examples"]
    with pytest.raises(EngineUnavailable):
        decoder.decode(found)
