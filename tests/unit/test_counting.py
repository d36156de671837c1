"""Each number that was said counts what stands beside it, or a human looks."""

from __future__ import annotations

from typing import Any

import pytest

from schemas.cart import CartDraft
from services.checks.evidence import check_evidence
from services.reading.order import read_order
from tests.unit.test_spoken_forms import MENUS, only_cart

Lines = list[tuple[Any, ...]]


def shown(menu: str, words: str) -> Lines | None:
    cart = only_cart(read_order(words, MENUS[menu], 1))
    return cart and [
        (line["sku"], line["quantity"], *((o["id"], o["amount"], o["count"]) for o in line["options"]))
        for line in cart
    ]


def doubts(menu: str, words: str, *lines: dict[str, Any]) -> set[str]:
    """Codes of the findings about a draft, whatever the readings say."""
    draft = CartDraft.model_validate({"lines": [{"kind": "item", "heard": words, **line} for line in lines]})
    return {finding.code for finding in check_evidence(draft, read_order(words, MENUS[menu], 1))}


@pytest.mark.parametrize(
    ("menu", "words", "lines"),
    [
        ("harbor-coffee", "a small latte with two extra shots", [("latte", 1, ("espresso", "normal", 2))]),
        (
            "harbor-coffee",
            "a small latte with a couple of extra shots",
            [("latte", 1, ("espresso", "normal", 2))],
        ),
        ("harbor-coffee", "a small latte with two more shots", [("latte", 1, ("espresso", "normal", 2))]),
        ("harbor-coffee", "a small latte, two additional shots", [("latte", 1, ("espresso", "normal", 2))]),
        (
            "harbor-coffee",
            "a large cappuccino with two extra pumps of vanilla",
            [("cappuccino", 1, ("vanilla", "normal", 2))],
        ),
        ("harbor-coffee", "a small two shot latte", [("latte", 1, ("espresso", "normal", 2))]),
        ("harbor-coffee", "a couple of oat lattes", [("latte", 2, ("oat", "normal", 1))]),
        (
            "burger-barn",
            "two turkey burgers with three extra slices of cheddar",
            [("turkey-burger", 2, ("cheddar", "normal", 3))],
        ),
        (
            "casa-verde",
            "a burrito with two more scoops of guac",
            [("burrito", 1, ("guacamole", "normal", 2))],
        ),
        ("harbor-coffee", "a small latte with extra foam", [("latte", 1, ("foam", "extra", 1))]),
        ("harbor-coffee", "a small latte with no more sugar", [("latte", 1, ("sugar", "none", 1))]),
    ],
)
def test_a_number_before_extra_counts(menu: str, words: str, lines: Lines) -> None:
    assert shown(menu, words) == lines


@pytest.mark.parametrize(
    ("menu", "words", "item", "count", "options"),
    [
        ("pie-yard", "two mushroom pizzas", "pizza", 2, {"mushrooms"}),
        ("pie-yard", "three ham and chicken pies", "pizza", 3, {"ham", "grilled-chicken"}),
        ("pie-yard", "two large ham, bacon and onion pizzas", "pizza", 2, {"ham", "bacon", "onions"}),
        ("casa-verde", "two jalapeño and cheese quesadillas", "quesadilla", 2, {"jalapenos", "cheese"}),
        ("burger-barn", "two bacon and egg hamburgers", "hamburger", 2, {"bacon", "egg"}),
        ("copper-skillet", "two salt and cheese sauce fries", "fries", 2, {"salt", "cheese-sauce"}),
        ("harbor-coffee", "three oat milk and vanilla lattes", "latte", 3, {"oat", "vanilla"}),
        ("sub-dock", "two cheddar and bacon ham subs", "ham-sub", 2, {"cheddar", "bacon"}),
    ],
)
def test_options_before_their_item_leave_the_number_to_it(
    menu: str, words: str, item: str, count: int, options: set[str]
) -> None:
    (line,) = shown(menu, words) or [()]
    assert line[:2] == (item, count)
    assert {o[0] for o in line[2:]} == options
    assert all(o[1:] == ("normal", 1) for o in line[2:])


def test_options_after_with_keep_their_number() -> None:
    assert shown("harbor-coffee", "a small latte with two sugars and an oat milk mocha") == [
        ("latte", 1, ("sugar", "normal", 2)),
        ("mocha", 1, ("oat", "normal", 1)),
    ]
    assert (
        shown("copper-skillet", "a cheeseburger with two eggs and cheese sauce fries") is None
    )  # how many fries?


SHOT = {"group": "shots", "id": "espresso"}


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        # An equal number elsewhere in the cart is not this one.
        (
            "two small lattes with two extra shots",
            [{"sku": "latte", "quantity": 2, "size": "S", "options": [SHOT]}],
        ),
        (
            "two muffins and a small latte with two shots",
            [
                {"sku": "blueberry-muffin", "quantity": 2},
                {"sku": "latte", "quantity": 1, "size": "S", "options": [SHOT]},
            ],
        ),
        (
            "two small oat lattes and a mocha with two shots",
            [
                {
                    "sku": "latte",
                    "quantity": 1,
                    "size": "S",
                    "options": [{"group": "milk", "id": "oat", "count": 2}],
                },
                {"sku": "mocha", "quantity": 1, "options": [SHOT | {"count": 2}]},
            ],
        ),
        (
            "a small latte with two extra shots",
            [{"sku": "latte", "quantity": 2, "size": "S", "options": [SHOT]}],
        ),
    ],
)
def test_a_number_that_counts_nothing_where_it_stands_is_a_doubt(
    words: str, lines: list[dict[str, Any]]
) -> None:
    assert "number_unused" in doubts("harbor-coffee", words, *lines)


@pytest.mark.parametrize(
    ("menu", "words"),
    [
        ("copper-skillet", "Five cheeseburgers, three medium and two rare, and two large iced teas."),
        ("casa-verde", "Four tacos, two barbacoa, two carnitas, all of them on corn tortillas with pico."),
        ("harbor-coffee", "blueberry muffins two please warmed up and a water"),
        ("harbor-coffee", "half a dozen butter croissants"),
        ("sub-dock", "two six inch turkey subs"),
        ("sub-dock", "a six inch turkey sub"),
    ],
)
def test_numbers_of_splits_names_and_sizes_are_no_doubt(menu: str, words: str) -> None:
    assert shown(menu, words) is not None
