"""Facts of the menu: what a draft may hold."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import CartDraft
from schemas.priced_cart import Severity
from services.validation.facts import check_facts, check_total
from tests.stand_ins import CAFE


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


def test_findings_name_their_line() -> None:
    assert facts() == [("empty_cart", None)]
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


def test_an_absurd_total_is_asked_about() -> None:
    assert check_total(50_000, 50_000, CAFE) == []
    (finding,) = check_total(50_001, 50_000, CAFE)
    assert (finding.code, finding.severity) == ("total_over_limit", Severity.BLOCKING)
    assert "$500.00" in finding.message
