"""What groups of the second edition allow, ask for and bring by default, and what the cart says of taxes."""

from __future__ import annotations

import json
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any
from unittest.mock import Mock

import pytest

from schemas.cart import CartDraft
from schemas.decision import ModelAnswer, Policy
from schemas.menu import Menu, MenuVersion
from schemas.priced_cart import Cart
from schemas.shops.settings import Acceptance
from schemas.transcript import Transcript
from services.cli.commands.menu import TEMPLATE
from services.pipeline.stages import validate
from services.validation.facts import check_facts
from services.validation.price import price_cart
from services.validation.questions import answered
from tests.stand_ins import in_review

# A Saturday at nine in the morning there.
NINE = datetime(2027, 1, 9, 14, tzinfo=UTC)
WRITTEN = Menu.parse(json.loads(TEMPLATE.read_text(encoding="utf-8")))
MENU = WRITTEN.at(NINE)
SAID = Transcript(text="as it comes", confidence=1.0)


def ordered(sku: str, *options: tuple[Any, ...], size: str | None = None, quantity: int = 1) -> CartDraft:
    """A draft of one line with options as (group, id, count, amount)."""
    chosen = [dict(zip(("group", "id", "count", "amount"), option, strict=False)) for option in options]
    line = {"kind": "item", "heard": sku, "sku": sku, "quantity": quantity, "size": size, "options": chosen}
    return CartDraft.model_validate({"lines": [line]})


def priced(draft: CartDraft) -> Cart:
    return price_cart(draft, MENU, 1, SAID, [])


RANCH, SALSA = ("sauce", "ranch"), ("sauce", "salsa")


@pytest.mark.parametrize(
    ("draft", "codes"),
    [
        (ordered("latte", size="S"), ["option_defaulted"]),
        (ordered("latte", ("milk", "oat"), size="S"), []),
        (ordered("latte", ("milk", "whole", 1, "none"), size="S"), ["missing_required_option"]),
        (ordered("breakfast"), ["missing_required_option"]),
        (ordered("breakfast", (*RANCH, 2), (*SALSA, 1)), []),
        (ordered("breakfast", (*RANCH, 2), (*SALSA, 2)), ["too_many_choices"]),
        (ordered("breakfast", (*RANCH, 3)), ["option_over_limit"]),
    ],
)
def test_a_group_is_held_to_its_counts(draft: CartDraft, codes: list[str]) -> None:
    assert [found.code for found in check_facts(draft, MENU)] == codes


@pytest.mark.parametrize(
    ("draft", "unit"),
    [
        (ordered("latte", size="L"), 550),
        # What the item says of an option goes before the option's own prices by size.
        (ordered("latte", ("milk", "oat"), size="L"), 620),
        (ordered("latte", ("milk", "whole"), size="S"), 450),
        # The cheapest portion is free; of an extra one only what a plain one costs.
        (ordered("breakfast", RANCH, SALSA), 1150 + 75),
        (ordered("breakfast", (*SALSA, 2)), 1150 + 75),
        (ordered("breakfast", (*SALSA, 1, "extra")), 1150 + 50),
        (ordered("breakfast", (*SALSA, 1, "light"), RANCH), 1150 + 50),
    ],
)
def test_a_line_costs_what_its_groups_say(draft: CartDraft, unit: int) -> None:
    (line,) = priced(draft).lines
    assert line.unit_price == unit


def test_a_size_is_asked_where_only_an_option_costs_more_in_it() -> None:
    document = WRITTEN.model_dump(mode="json", exclude_none=True)
    document["items"][0] |= {"prices": {"S": 450, "L": 450}, "option_overrides": []}
    del document["items"][0]["default_size"]
    menu = Menu.parse(document).at(NINE)
    assert [f.code for f in check_facts(ordered("latte"), menu)] == ["size_unsaid", "option_defaulted"]
    oat = ordered("latte", ("milk", "oat"))
    (found,) = check_facts(oat, menu)
    assert found.question is not None
    assert [answer.price for answer in found.question.answers] == [510, 530]
    assert price_cart(oat, menu, 1, SAID, []).lines[0].options[0].price == 60


def test_what_is_missing_is_asked_one_at_a_time() -> None:
    document = WRITTEN.model_dump(mode="json", exclude_none=True)
    document["option_groups"][1] |= {"min": 3}
    menu = Menu.parse(document).at(NINE)
    draft, asked = ordered("breakfast"), []
    while questions := [found.question for found in check_facts(draft, menu) if found.question]:
        asked.append((questions[0].id, [(answer.id, answer.price) for answer in questions[0].answers]))
        draft = answered(draft, questions[0], "salsa" if len(asked) == 1 else "ranch")
    assert asked == [
        ("0/options/sauce", [("ranch", 1250), ("salsa", 1275)]),
        ("0/options/sauce/2", [("ranch", 1275), ("salsa", 1300)]),
        ("0/options/sauce/3", [("ranch", 1275), ("salsa", 1300)]),
    ]
    assert [(one.id, one.count) for one in draft.lines[0].options] == [("salsa", 1), ("ranch", 2)]


def test_an_item_out_of_its_hours_is_told_apart_from_one_that_is_sold_out() -> None:
    """By when the order began, however late it is validated."""
    policy = Policy(asr_threshold=0.5, max_total=50_000)
    version = MenuVersion(shop="main", menu=WRITTEN, version=1, digest="", created_at=NINE)
    tools: Any = Mock(policy=policy, menu=lambda *_: version, accepts=lambda _: Acceptance())
    order = replace(in_review(ordered("breakfast", RANCH)), answer=ModelAnswer(probability=1.0))
    night, sold_out = datetime(2027, 1, 10, 2, tzinfo=UTC), datetime(2027, 1, 4, 14, tzinfo=UTC)
    done = [validate(replace(order, created_at=when), tools) for when in (NINE, night, sold_out)]
    found = [[one.code for one in outcome.findings or ()] for outcome in done]
    assert found == [[], ["item_outside_hours"], ["item_unavailable"]]


@pytest.mark.parametrize(
    ("rate", "included", "quantity", "tax", "total"),
    [
        ("8.875", False, 1, 40, 490),  # 39.9375
        (1000, False, 1, 45, 495),
        ("0.5", False, 1, 2, 452),  # 2.25
        ("0.33334", False, 1, 2, 452),  # 1.50003
        (100, False, 3, 14, 1364),  # 13.5 once, not 4.5 three times
        (1000, True, 1, 41, 450),  # 40.909
        (0, False, 1, 0, 450),
    ],
)
def test_a_tax_is_rounded_once_on_its_class(
    rate: Any, included: bool, quantity: int, tax: int, total: int
) -> None:
    document = WRITTEN.model_dump(mode="json", exclude_none=True)
    document["taxes"][0] |= {"rate": rate, "included": included}
    line = ordered("latte", size="S").lines[0]
    draft = CartDraft(lines=(line,) * quantity)
    cart = price_cart(draft, Menu.parse(document), 1, SAID, [])
    assert (cart.subtotal, cart.taxes[0].amount, cart.total) == (450 * quantity, tax, total)


def test_the_tills_own_ids_are_in_the_cart() -> None:
    cart = priced(ordered("latte", ("milk", "oat"), size="S"))
    (line,) = cart.lines
    assert (line.ref, line.size_ref, line.options[0].ref) == ("item-latte", "size-small", "mod-oat")
    assert cart.taxes[0].ref == "tax-1"
    assert "ref" not in price_cart(ordered("breakfast"), MENU, 1, SAID, []).lines[0].model_dump()
