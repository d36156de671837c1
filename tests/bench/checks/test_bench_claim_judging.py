"""How the claim's bench judges an answer: each kind of failure by its name, and the look-up after it."""

from __future__ import annotations

import json
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from llguidance import LLMatcher

from schemas.compare import canonical_draft
from services.training.orders import shops
from tests.bench.chat import Answer
from tests.bench.claim import form
from tests.bench.claim.judging import KINDS, Judged, judge
from tests.bench.claim.outcomes import outcome
from tests.bench.claim.spoken import TOLD, Spoken, heard_in, recordings, spread, told
from tests.bench.orders import menu_of
from tests.golden.ladder import read
from tests.golden.speak.told import ENGLISH, written

MENU = menu_of("harbor-coffee")
ITEM: dict[str, Any] = {"item": "latte", "quantity": 2, "size": "L", "options": [{"name": "oat milk"}]}


def cart(*items: dict[str, Any]) -> str:
    return json.dumps({"items": items})


def judged(text: str, finish: str = "stop") -> Judged:
    return judge(Answer(text, finish, 0, 0, 0, 0.0), MENU)


FAILURES = [
    ("the schema is refused", "refused", "refused"),
    (cart(ITEM), "length", "truncated"),
    ("Two large lattes, coming up!", "stop", "no JSON"),
    ('{"items": [{"item": "latte", "quantity": 2', "stop", "broken JSON"),
    ('{"items": [{"item": "latte", "quantity": 2]}', "stop", "broken JSON"),
    ('{"items": [{"item": "latte, ", "quantity": 2,}],}', "stop", "trailing comma"),
    (f"Here is the cart: {cart(ITEM)} Enjoy!", "stop", "words around the JSON"),
    (cart({**ITEM, "quantity": "two"}), "stop", "number in words"),
    (cart({**ITEM, "quantity": "2"}), "stop", "number in words"),
    (cart({**ITEM, "size": "large"}), "stop", "size by name"),
    (cart({**ITEM, "size": "Tall"}), "stop", "size by name"),
    (cart({**ITEM, "size": "XXL"}), "stop", "size off the list"),
    (cart({**ITEM, "options": [{"name": "dragon milk"}]}), "stop", "option off the list"),
    (cart({**ITEM, "options": [{"name": "oat milk", "amount": "lots"}]}), "stop", "amount off the list"),
    (cart({"item": "latte"}), "stop", "field missing"),
    ('{"cart": []}', "stop", "field missing"),
    (cart({**ITEM, "price": 450}), "stop", "field too many"),
    (cart({**ITEM, "options": ["oat milk"]}), "stop", "wrong type"),
    (cart({**ITEM, "quantity": 1.5}), "stop", "wrong type"),
    ("[]", "stop", "wrong type"),
    (cart({**ITEM, "quantity": 0}), "stop", "out of bounds"),
]


@pytest.mark.parametrize(("text", "finish", "kind"), FAILURES)
def test_each_kind_of_failure_has_its_name_and_its_words(text: str, finish: str, kind: str) -> None:
    found = judged(text, finish)
    assert (found.failure, found.strict_failure) == (kind, kind)
    assert found.problem
    assert not found.draft.lines


def test_every_kind_is_tried() -> None:
    assert {kind for _, _, kind in FAILURES} == set(KINDS)


def test_the_problem_that_a_model_is_shown_says_where_and_what() -> None:
    assert judged(cart(ITEM, {**ITEM, "size": "large"})).problem == (
        "items.1.size: 'large' is none of S, M, L"
    )
    assert (
        "items.0.quantity: Input should be a valid integer"
        in judged(cart({**ITEM, "quantity": "two"})).problem
    )


@pytest.mark.parametrize("text", [cart(ITEM), f"```json\n{cart(ITEM)}\n```"])
def test_a_cart_is_looked_up_and_a_fence_forgiven_and_told(text: str) -> None:
    found = judged(text)
    assert found.failure is None
    assert found.strict_failure is None
    assert found.fenced == text.startswith("`")
    assert canonical_draft(found.draft) == {
        ("item", "latte", "L", frozenset({("milk", "oat", "normal", 1)})): 2
    }


@pytest.mark.parametrize(
    ("item", "sku"),
    [("Latte", "latte"), ("lattes", "latte"), ("chocolate chip  cookie", "chocolate-chip-cookie")],
)
def test_the_look_up_folds_case_spaces_and_a_plain_plural(item: str, sku: str) -> None:
    found = judged(cart({"item": item, "quantity": 1}))
    assert [getattr(line, "sku", None) for line in found.draft.lines] == [sku]
    assert not found.unknown


def test_an_item_of_no_menu_passes_the_claim_and_not_us() -> None:
    found = judged(cart({"item": "unicorn latte", "quantity": 1}))
    assert found.failure is None
    assert (found.unknown, found.strict_failure) == (("unicorn latte",), "item of no menu")
    told = judged(cart({"item": "not on the menu", "quantity": 1}))
    assert (told.unknown, told.strict_failure) == ((), None)
    assert [line.kind for line in told.draft.lines] == ["not_on_menu"]


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"item": "blueberry muffin"}, "size_not_offered"),
        ({"item": "blueberry muffin", "size": None}, "option_not_offered"),
        ({"options": [{"name": "oat milk"}, {"name": "soy milk"}]}, "too_many_choices"),
        ({"options": [{"name": "espresso shot"}, {"name": "espresso shot"}]}, "option_repeated"),
        ({"quantity": 999}, "quantity_over_limit"),
    ],
)
def test_what_our_own_check_calls_false_is_a_strict_failure_alone(change: dict[str, Any], code: str) -> None:
    found = judged(cart({**ITEM, **change}))
    assert found.failure is None
    assert code in found.false


def test_an_option_of_several_groups_is_that_of_the_items_own() -> None:
    menu = menu_of("copper-skillet")
    text = cart({"item": "classic burger combo", "quantity": 1, "options": [{"name": "fries"}]})
    lines = judge(Answer(text, "stop", 0, 0, 0, 0.0), menu).draft.model_dump()["lines"]
    assert lines[0]["options"][0]["group"] == "combo_side"


@pytest.mark.parametrize("menu", ["harbor-coffee", "copper-skillet"])
@pytest.mark.parametrize("items", [False, True])
def test_the_examples_are_carts_that_both_masks_and_the_judge_allow(menu: str, items: bool) -> None:
    grammar = form.grammar(menu_of(menu), items=items)
    assert not LLMatcher.validate_grammar(grammar)
    shown = [m["content"] for m in form.messages("hello", menu_of(menu)) if m["role"] == "assistant"]
    assert len(shown) == 4
    for text in shown:
        found = judge(Answer(text, "stop", 0, 0, 0, 0.0), menu_of(menu))
        assert found.strict_failure is None, found
    assert len(form.messages("hello", menu_of(menu), 0)) == 2


def test_the_recordings_are_tuned_ones_and_always_the_same() -> None:
    whole = recordings()
    assert len({one.id for one in whole}) == len(whole) == 109
    assert all(one.file.is_file() for one in whole)
    assert not any("-s-" in one.id for one in whole)
    assert spread(24) == spread(24)
    assert len({one.id for one in spread(24)}) == 24


def test_told_orders_are_those_that_no_adapter_learned_from_and_by_six_voices(tmp_path: Path) -> None:
    orders, learned = told(), {row.said for shop in shops("train") for row in shop.rows}
    assert len({one.id for one in orders}) == 48
    assert {one.menu.id for one in orders} == {"harbor-coffee", "copper-skillet"}
    rows = [json.loads(line) for file in TOLD for line in file.read_text(encoding="utf-8").splitlines()]
    assert not learned & {row["utterance"] for row in rows}
    assert {written(row, n)["voice"] for n, row in enumerate(rows, 1)} == {*ENGLISH}
    assert len(ENGLISH) == 6
    assert spread(109, "told") == list(orders)
    with pytest.raises(FileNotFoundError, match="spoken first"):
        heard_in(orders[0], "told", tmp_path)


def test_told_orders_in_a_cafe_are_the_spoken_ones_in_noise(tmp_path: Path) -> None:
    (one, other, *_), spoken = told(), recordings()[0].file
    (tmp_path / "told").mkdir()
    shutil.copy(spoken, tmp_path / "told" / one.file)
    assert heard_in(one, "told", tmp_path) == tmp_path / "told" / one.file
    made = heard_in(one, "told-babble-10", tmp_path)
    assert made == tmp_path / "told-babble-10" / one.file
    assert read(made).shape == read(spoken).shape
    assert not np.allclose(read(made), read(spoken), atol=0.01)
    with pytest.raises(FileNotFoundError, match="spoken first"):
        heard_in(other, "told-babble-10", tmp_path)


def row(one: Spoken, *texts: str, **more: Any) -> dict[str, Any]:
    answers = [
        {"text": text, "finish": "stop", "prompt_tokens": 100, "cached_tokens": 90,
         "completion_tokens": 10 + n, "seconds": 1.0 + n}
        for n, text in enumerate(texts)
    ]  # fmt: skip
    return {"id": one.id, "menu": one.menu.id, "heard_s": 0.5, "rest_s": 4.0, "answers": answers, **more}


def test_an_outcome_tells_first_and_last_answer_and_what_the_repair_cost() -> None:
    one = next(r for r in recordings() if r.id == "hc-t-001")  # a small latte
    right = cart({"item": "latte", "quantity": 1, "size": "S"})
    found = outcome(row(one, cart({**ITEM, "size": "large"}), right))
    assert (found.first_failure, found.failure, found.exact, found.passed) == (
        "size by name",
        None,
        True,
        True,
    )
    assert (found.repair_tokens, found.repair_prompt_tokens, found.repair_s) == (11, 100, 2.0)
    assert (found.total_s, found.first_s, found.calls) == (4.5, 2.5, 2)
    wrong = outcome(row(one, cart({"item": "mocha", "quantity": 1}, {"item": "moon", "quantity": 1})))
    assert (wrong.wrong, wrong.unknown, wrong.items, wrong.astray, wrong.passed) == (2, 1, 2, True, False)
    gone = outcome(row(one, "no", "no", "no"))
    assert (gone.failure, gone.calls, gone.exact, gone.passed) == ("no JSON", 3, False, False)


def test_ours_fails_by_what_the_pipeline_gave_as_its_reason() -> None:
    one = next(r for r in recordings() if r.id == "hc-t-001")
    gold = {"lines": [{"kind": "item", "heard": "a small latte", **line} for line in one.gold]}
    good = outcome(row(one, cart=gold, decision="accept", reasons=[]))
    assert (good.failure, good.exact, good.passed, good.asked) == (None, True, True, False)
    cut = outcome(row(one, "{", cart={"lines": []}, decision="review", reasons=["decode_truncated"]))
    assert (cut.failure, cut.exact, cut.passed, cut.asked) == ("truncated", False, False, True)
