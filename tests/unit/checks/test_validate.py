"""Facts of the menu, and the words: what the draft holds was said, what was said is held."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import CartDraft, Finding, Severity
from services.checks.evidence import check_evidence
from services.checks.facts import check_facts, check_total
from services.reading.order import read_order
from tests.stand_ins import CAFE, sample_menu


def item(sku: str, quantity: int = 1, size: str | None = None, *options: tuple[str, ...]) -> dict[str, Any]:
    return {
        "kind": "item",
        "heard": sku,
        "sku": sku,
        "quantity": quantity,
        "size": size,
        "options": [dict(zip(("group", "id", "amount"), option, strict=False)) for option in options],
    }


def off(heard: str) -> dict[str, Any]:
    return {"kind": "not_on_menu", "heard": heard, "quantity": 1}


def draft(*lines: dict[str, Any]) -> CartDraft:
    return CartDraft.model_validate({"lines": lines})


def facts(*lines: dict[str, Any]) -> list[tuple[str, int | None]]:
    return [(f.code, f.line) for f in check_facts(draft(*lines), CAFE)]


def evidence(text: str, *lines: dict[str, Any]) -> list[str]:
    return [f.code for f in check_evidence(draft(*lines), read_order(text, CAFE, 1))]


@pytest.mark.parametrize(
    ("line", "codes"),
    [
        (item("muffin"), []),
        (item("latte", 1, "L", ("milk", "oat"), ("extras", "foam", "none")), []),
        (off("a bicycle"), ["not_on_menu"]),
        (item("unicorn"), ["unknown_item"]),
        (item("truffle"), ["item_unavailable"]),
        (item("latte", 12, "L"), []),
        (item("latte", 13, "L"), ["quantity_over_limit"]),
        (item("latte", 1, "P10"), ["size_not_offered"]),
        (item("muffin", 1, "L"), ["size_not_offered"]),
        (item("latte", 1, "XXL"), ["size_not_offered"]),
        # A size that was not said: the item's rule.
        (item("latte"), ["missing_size"]),
        (item("americano"), ["size_defaulted"]),
        (item("coffee"), ["size_unsaid"]),
        (item("nuggets", 1, None, ("sauce", "ranch")), []),
        (item("muffin", 1, None, ("milk", "oat")), ["option_not_offered"]),
        (item("latte", 1, "L", ("wheels", "four")), ["option_not_offered"]),
        (item("latte", 1, "L", ("milk", "yak")), ["unknown_option"]),
        (item("nuggets", 1, "P10", ("sauce", "gold")), ["option_unavailable"]),
        (item("latte", 1, "L", ("extras", "foam"), ("extras", "foam")), ["option_repeated"]),
        (item("latte", 1, "L", ("milk", "oat"), ("milk", "soy")), ["too_many_choices"]),
        # Refusing one is no second choice; refusing every one fills no required group.
        (item("latte", 1, "L", ("milk", "oat"), ("milk", "soy", "none")), []),
        (item("coffee", 1, "S", ("syrup", "vanilla"), ("syrup", "mocha-syrup")), []),
        (item("nuggets", 1, "P10"), ["missing_required_option"]),
        (item("nuggets", 1, "P10", ("sauce", "ranch", "none")), ["missing_required_option"]),
        (item("nuggets", 1, "P10", ("sauce", "ranch")), []),
    ],
)
def test_a_line_is_checked_against_the_menu(line: dict[str, Any], codes: list[str]) -> None:
    assert facts(line) == [(code, 0) for code in codes]


def test_an_empty_cart_is_a_finding_of_no_line() -> None:
    assert facts() == [("empty_cart", None)]


def test_findings_name_their_line() -> None:
    assert facts(item("muffin"), item("unicorn"), off("x")) == [("unknown_item", 1), ("not_on_menu", 2)]


def test_only_what_needs_no_answer_is_merely_shown() -> None:
    shown = {"size_defaulted", "size_unsaid"}
    lines = [
        item("americano"), item("coffee"), item("latte"), item("truffle"), item("latte", 13, "L"), off("x"),
        item("nuggets", 1, "P10"), item("latte", 1, "L", ("milk", "oat"), ("milk", "soy")),
    ]  # fmt: skip
    findings = check_facts(draft(*lines), CAFE)
    assert {f.code for f in findings if f.severity is Severity.INFO} == shown
    assert len([f for f in findings if f.severity is Severity.BLOCKING]) == 6
    assert all(f.message for f in findings)


def test_facts_and_words_agree_on_a_right_cart() -> None:
    text = "two large lattes with oat milk and no foam and a blueberry muffin please"
    lines = (item("latte", 2, "L", ("milk", "oat"), ("extras", "foam", "none")), item("muffin"))
    assert evidence(text, *lines) == []


@pytest.mark.parametrize(
    ("text", "lines", "codes"),
    [
        ("a large latte", [item("mocha")], {"item_unsaid", "heard_but_missing"}),
        ("a large latte", [item("latte", 1, "S")], {"size_unsaid_value", "heard_but_missing"}),
        ("a large latte", [item("latte", 3, "L")], {"quantity_unsaid"}),
        ("a latte", [item("latte", 1, None, ("milk", "oat"))], {"option_unsaid"}),
        ("a latte with oat milk", [item("latte", 1, None, ("milk", "oat", "extra"))], {"option_unsaid"}),
        ("a latte with no foam", [item("latte", 1, None, ("extras", "foam"))], {"option_unsaid"}),
        # Said, yet in no line.
        ("a large latte", [item("latte")], {"heard_but_missing"}),
        ("a latte with oat milk", [item("latte")], {"heard_but_missing"}),
        ("a latte and a mocha", [item("latte")], {"heard_but_missing"}),
        ("a latte and a bicycle", [item("latte")], {"unexplained_words"}),
        ("a latte and a bicycle", [item("latte"), off("a bicycle")], set()),
        ("two lattes", [item("latte")], {"number_unused"}),
        ("two lattes", [item("latte", 2)], set()),
        # Split into lines that add up to the number said.
        ("two lattes, one large, one small", [item("latte", 1, "L"), item("latte", 1, "S")], set()),
        (
            "a latte with two shots",
            [item("latte", 1, None, ("shots", "shot"))],
            {"option_unsaid", "number_unused"},
        ),
        ("to lattes", [item("latte", 2)], set()),
        # Taken back: what was said first may not be there.
        ("a latte, no wait, a mocha", [item("mocha")], set()),
        ("a latte, no wait, a mocha", [item("latte")], {"heard_but_missing", "item_unsaid"}),
        ("three lattes, no wait, two lattes", [item("latte", 2)], set()),
        ("three lattes, no wait, two lattes", [item("latte", 3)], {"quantity_unsaid", "number_unused"}),
        # What no rule reads is a doubt, whatever the cart.
        ("a latte and change the milk", [item("latte")], {"taken_back"}),
        ("I don't want a latte", [], {"heard_but_missing", "taken_back"}),
        ("no coffee, a large latte", [item("latte", 1, "L")], {"heard_but_missing", "taken_back"}),
        ("do you have a mocha? a large latte", [item("latte", 1, "L")], {"asked_about", "heard_but_missing"}),
        (
            "a large latte and the same with oat milk",
            [item("latte", 1, "L", ("milk", "oat"))],
            {"said_likewise"},
        ),
        ("the latte, the latte with oat milk", [item("latte", 1, None, ("milk", "oat"))], {"said_twice"}),
    ],
)
def test_the_draft_is_checked_against_the_words(
    text: str, lines: list[dict[str, Any]], codes: set[str]
) -> None:
    assert set(evidence(text, *lines)) == codes


def test_a_count_that_was_said_is_used_by_the_option() -> None:
    line = item("latte", 1, None)
    line["options"] = [{"group": "shots", "id": "shot", "count": 2}]
    assert evidence("a latte with two shots", line) == []
    line["options"][0]["count"] = 3
    assert "option_unsaid" in evidence("a latte with two shots", line)


def test_every_finding_of_the_words_asks_a_human() -> None:
    found: list[Finding] = check_evidence(
        draft(item("muffin", 7, "L", ("milk", "oat"))), read_order("two mochas and a zeppelin", CAFE, 1)
    )
    assert len(found) >= 6
    assert {f.severity for f in found} == {Severity.BLOCKING}


def test_a_word_that_several_names_share_is_a_doubt() -> None:
    menu = sample_menu("harbor-coffee")
    heard = read_order("can I get a smoothie please", menu, 1)
    sku, *others = sorted(heard.items)
    assert others, "the word should fit several"
    assert "vague_name" in {f.code for f in check_evidence(draft(item(sku)), heard)}
    plain = read_order("can I get a large mango smoothie please", menu, 1)
    assert check_evidence(draft(item("mango-smoothie", 1, "L")), plain) == []


def test_an_absurd_total_is_asked_about() -> None:
    assert check_total(50_000, 50_000, CAFE) == []
    (finding,) = check_total(50_001, 50_000, CAFE)
    assert (finding.code, finding.severity) == ("total_over_limit", Severity.BLOCKING)
    assert "500.00" in finding.message


def test_an_option_that_may_be_either_line_s_is_asked_about() -> None:
    found = evidence("a latte oat milk mocha", item("latte", 1, None, ("milk", "oat")), item("mocha"))
    assert "unclear_which" in found
    clear = evidence(
        "a latte with oat milk and a mocha", item("latte", 1, None, ("milk", "oat")), item("mocha")
    )
    assert clear == []
