"""A sub with ten toppings is an order like any other; one with more than a line may hold is a doubt."""

from __future__ import annotations

import pytest

from schemas.cart import MAX_OPTIONS, CartDraft, ItemLine, OptionDraft
from schemas.menu import Menu
from services.checks.evidence import check_evidence
from services.checks.one_cart import undoubted_cart
from services.decoding.json_schema import cart_schema
from services.decoding.spelling import SCHEMA
from services.reading.order import read_order
from services.web.staff.review_controls import controls_of
from services.web.staff.review_form import lines_of
from tests.stand_ins import CAFE

TOPPINGS = (
    "lettuce, tomato, red onion, pickles, black olives, green peppers, jalapenos, spinach, cucumber, "
    "banana peppers, mushrooms, avocado, bacon, feta, mayo, mustard, ranch, vinegar, oregano, hot sauce, "
    "provolone, swiss, cheddar, salami, pepperoni, artichokes, capers, basil"
).split(", ")
DELI = Menu.parse(
    {
        "id": "deli",
        "name": "Deli",
        "currency": "USD",
        "option_groups": [
            {"id": "t", "name": "toppings", "choose": "many",
             "options": [{"id": t.replace(" ", "-"), "name": t} for t in TOPPINGS]},
        ],
        "items": [
            {"sku": "sub", "name": "turkey sub", "price": 900, "option_groups": ["t"]},
            {"sku": "soup", "name": "soup", "price": 400},
        ],
    }
)  # fmt: skip


def said(toppings: int) -> str:
    return f"a turkey sub with {', '.join(TOPPINGS[: toppings - 1])} and {TOPPINGS[toppings - 1]} please"


def sub(toppings: int) -> CartDraft:
    options = tuple(OptionDraft(group="t", id=t.replace(" ", "-")) for t in TOPPINGS[:toppings])
    line = ItemLine(kind="item", heard="a turkey sub", sku="sub", quantity=1, options=options)
    return CartDraft(lines=(line,))


@pytest.mark.parametrize("toppings", [8, 9, 10, MAX_OPTIONS])
def test_every_topping_that_was_said_is_on_the_line(toppings: int) -> None:
    evidence = read_order(said(toppings), DELI, 1)
    cart = undoubted_cart(evidence)
    assert cart is not None
    line = cart.lines[0]
    assert isinstance(line, ItemLine)
    assert line.options == sub(toppings).lines[0].options  # type: ignore[union-attr]


def test_more_toppings_than_a_line_may_hold_are_a_doubt() -> None:
    evidence = read_order(said(MAX_OPTIONS + 1), DELI, 1)
    assert undoubted_cart(evidence) is None
    # Whichever the model writes down.
    for toppings in (0, 10, MAX_OPTIONS):
        codes = {finding.code for finding in check_evidence(sub(toppings), evidence)}
        assert "too_many_options" in codes
    beside = read_order("a soup", DELI, 1)
    assert "too_many_options" not in {f.code for f in check_evidence(sub(0), beside)}


def test_the_published_schema_and_the_form_are_bounded_by_the_menu() -> None:
    def bound(menu: Menu | None) -> int:
        schema = cart_schema(menu, 1) if menu else cart_schema()
        return int(schema["$defs"]["ItemLine"]["properties"]["options"]["maxItems"])

    assert bound(None) == MAX_OPTIONS == SCHEMA["$defs"]["ItemLine"]["properties"]["options"]["maxItems"]
    assert bound(DELI) == MAX_OPTIONS
    latte = CAFE.item("latte")
    assert latte is not None
    groups = [group for group in CAFE.option_groups if group.id in latte.option_groups]
    assert bound(CAFE) == sum(len(group.options) for group in groups)
    bare = Menu.parse(CAFE.model_copy(update={"option_groups": ()}).model_dump() | {"items": [
        {"sku": "a", "name": "a", "price": 1}]})  # fmt: skip
    assert bound(bare) == 0
    more = controls_of(lines_of(sub(MAX_OPTIONS - 1)), DELI)[0].more
    assert more is not None
    assert controls_of(lines_of(sub(MAX_OPTIONS)), DELI)[0].more is None
