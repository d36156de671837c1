"""Each value of a line rests on its own words; what nobody said rests on the line's."""

from __future__ import annotations

from typing import Any

from schemas.cart import CartDraft
from services.checks.traces import Trace, traces
from services.reading.order import read_order
from tests.stand_ins import CAFE

OAT = {"group": "milk", "id": "oat"}


def line(
    sku: str, quantity: int = 1, size: str | None = None, *options: dict[str, Any], heard: str = ""
) -> Any:
    return {
        "kind": "item",
        "heard": heard or sku,
        "sku": sku,
        "quantity": quantity,
        "size": size,
        "options": options,
    }


def told(text: str, *lines: Any) -> list[dict[str, Trace]]:
    draft = CartDraft.model_validate({"lines": lines})
    return [{t.name: t for t in found} for found in traces(draft, read_order(text, CAFE, 1))]


def words(text: str, trace: Trace) -> list[str]:
    return [text[start:end] for start, end in trace.spans]


def test_each_value_has_its_own_words() -> None:
    text = "can I get two large oat lattes and a muffin"
    latte, muffin = told(text, line("latte", 2, "L", OAT), line("muffin"))
    assert {name: words(text, trace) for name, trace in latte.items()} == {
        "sku": ["lattes"],
        "quantity": ["two"],
        "size": ["large"],
        "options/milk/oat": ["oat"],
        "heard": ["can I get two large oat lattes"],
    }
    assert words(text, muffin["sku"]) == ["muffin"]
    assert not any(trace.chosen or trace.guessed for trace in latte.values())


def test_a_default_that_nobody_said_has_the_words_of_its_line() -> None:
    text = "a muffin"
    (muffin,) = told(text, line("muffin"))
    assert (muffin["size"].unsaid, words(text, muffin["size"])) == (True, ["a muffin"])
    assert (muffin["quantity"].unsaid, words(text, muffin["quantity"])) == (True, ["a"])


def test_an_amount_is_heard_before_its_option() -> None:
    text = "a large latte with extra foam"
    (latte,) = told(text, line("latte", 1, "L", {"group": "extras", "id": "foam", "amount": "extra"}))
    assert words(text, latte["options/extras/foam"])[0].endswith("extra foam")


def test_a_sound_alike_scores_less_than_the_name() -> None:
    (exact,) = told("a large latte", line("latte", 1, "L"))
    (alike,) = told("a large americana", line("americano", 1, "L"))
    assert exact["sku"].score == 1 > alike["sku"].score > 0.8
    assert alike["heard"].score == alike["sku"].score


def test_lines_of_one_place_are_told_apart_by_their_values() -> None:
    text = "two lattes one large one small"
    small, large = told(text, line("latte", 1, "S"), line("latte", 1, "L"))
    assert (words(text, small["size"]), words(text, large["size"])) == (["small"], ["large"])


def test_what_no_words_account_for_has_no_traces() -> None:
    bicycle = {"kind": "not_on_menu", "heard": "a bicycle", "quantity": 1}
    assert told("a bicycle and a muffin", bicycle, line("latte", 1, "L")) == [{}, {}]


def test_what_the_mask_left_to_the_model_is_marked() -> None:
    (mocha,) = told("a latte or a mocha", line("mocha"))
    assert (mocha["sku"].chosen, mocha["heard"].chosen) == (True, True)
