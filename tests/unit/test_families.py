"""General names beside special ones, and items that were named whole beside something odd."""

from __future__ import annotations

import pytest

from services.checks.one_cart import line_left
from services.reading.order import read_order
from tests.unit.test_counting import shown
from tests.unit.test_spoken_forms import MENUS, only_cart


def wishes(menu: str, words: str) -> list[tuple[str, list[str]]]:
    """The lines that have to be in the cart, with their options, whether in doubt or not."""
    evidence = read_order(words, MENUS[menu], 1)
    lines = [line_left(line, evidence.menu) for line in evidence.lines if line.required]
    return [(line["sku"], [option["id"] for option in line["options"]]) for line in lines]


@pytest.mark.parametrize(
    ("menu", "words", "lines"),
    [
        ("hill-cafe", "a small americano coffee", [("americano", 1)]),
        ("hill-cafe", "two flat white coffees", [("flat-white", 2)]),
        ("hill-cafe", "a medium chai tea", [("chai", 1)]),
        ("hill-cafe", "a coffee americano, large", [("americano", 1)]),
        ("hill-pizza", "two margherita pizzas", [("margherita", 2)]),
        ("hill-pizza", "a large pizza margherita", [("margherita", 1)]),
        (
            "hill-cafe",
            "a small americano, coffee and a cookie",
            [("americano", 1), ("coffee", 1), ("cookie", 1)],
        ),
    ],
)
def test_the_name_of_a_category_beside_its_item_orders_nothing_more(
    menu: str, words: str, lines: list[tuple[str, int]]
) -> None:
    assert shown(menu, words) == lines


@pytest.mark.parametrize(
    ("menu", "words", "item", "options"),
    [
        ("harbor-coffee", "a large americano coffee", "americano", []),
        ("harbor-coffee", "a medium iced americano coffee", "iced-americano", []),
        ("harbor-coffee", "a nitro coffee please", "nitro-cold-brew", []),
        ("hill-pizza", "a small pizza with cheddar cheese", "pizza", ["cheddar"]),
        ("hill-pizza", "a large pizza with feta cheese and mushrooms", "pizza", ["feta", "mushroom"]),
        ("pie-yard", "a small pizza with fresh mozzarella cheese", "pizza", ["fresh-mozzarella"]),
    ],
)
def test_a_general_name_that_may_only_say_the_sort_is_a_doubt(
    menu: str, words: str, item: str, options: list[str]
) -> None:
    assert only_cart(read_order(words, MENUS[menu], 1)) is None
    assert wishes(menu, words) == [(item, options)]


def test_a_longer_name_said_whole_and_a_list_leave_no_doubt() -> None:
    assert shown("burger-barn", "a veggie burger with pepper jack cheese") == [
        ("veggie-burger", 1, ("pepper-jack", "normal", 1))
    ]
    assert shown("hill-pizza", "a large pizza with ham onion and mushroom") is not None
    assert shown("hill-pizza", "a large pizza with cheddar and cheese") is not None
    assert shown("pie-yard", "a large pizza with extra cheddar cheese") == [
        ("pizza", 1, ("cheddar", "extra", 1))
    ]


@pytest.mark.parametrize(
    ("menu", "words", "items", "odd"),
    [
        ("hill-pizza", "a medium cola", ["cola"], "medium"),
        ("hill-pizza", "a small pizza and a medium cola", ["pizza", "cola"], "medium"),
        ("hill-pizza", "a small pizza with a side of chips", ["pizza"], "chips"),
        ("hill-pizza", "a diet cola and small fries", ["cola", "fries"], "diet"),
        ("hill-pizza", "a small hawaiian pizza", ["pizza"], "hawaiian"),
        ("copper-skillet", "a medium cola and a cheeseburger", ["cola", "cheeseburger"], ""),
        ("harbor-coffee", "a large flat white and a unicorn latte", ["flat-white", "latte"], "unicorn"),
        ("casa-verde", "a rainbow burrito with chicken", ["burrito"], "rainbow"),
        ("sub-dock", "a venti turkey sub", ["turkey-sub"], "venti"),
    ],
)
def test_an_item_named_whole_stays_beside_something_odd_and_a_human_looks(
    menu: str, words: str, items: list[str], odd: str
) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert [line.items[0] for line in evidence.lines if line.required] == items
    assert not odd or odd in evidence.unexplained
    assert only_cart(evidence) is None


@pytest.mark.parametrize(
    ("menu", "words", "items"),
    [
        ("hill-pizza", "a small pizza with a side of fries", ["pizza", "fries"]),
        ("hill-pizza", "a large margherita with two cokes", ["margherita", "cola"]),
        (
            "hill-pizza",
            "a small pizza, fries on the side and, to drink, a water",
            ["pizza", "fries", "water"],
        ),
        ("harbor-coffee", "a large latte with a blueberry muffin on the side", ["latte", "blueberry-muffin"]),
        ("harbor-coffee", "a small latte with two slices of banana bread", ["latte", "banana-bread"]),
        ("copper-skillet", "a turkey burger with mac and cheese", ["turkey-burger", "mac-and-cheese"]),
        ("copper-skillet", "a cheeseburger combo with fries and a cola", ["cheeseburger-combo"]),
    ],
)
def test_an_item_beside_one_that_it_is_no_choice_of_is_a_line(
    menu: str, words: str, items: list[str]
) -> None:
    assert [line[0] for line in shown(menu, words) or []] == items
