"""Reading an order: with more lines than a cart holds, and with whatever words."""

from __future__ import annotations

from hypothesis import given, settings
from hypothesis import strategies as st

from infra.settings import REPOSITORY
from schemas.cart import Amount
from services.reading.order import read_order
from services.training.notation import read_menu
from tests.carts import MENUS, left_in_short

CAFE = MENUS["harbor-coffee"]
WORDS = (
    "two a latte lattes large oat milk no with and , . ? not make one of them it the same again instead "
    "scratch mocha muffin both all another small put back off small one whip three or bicycle that"
).split()


def test_a_name_in_pieces_has_no_amount_in_its_gap() -> None:
    """It is also called "kapsalon with cheese", which would have swallowed the "extra"."""
    evidence = read_order("a kapsalon with lamb extra cheese and garlic sauce", MENUS["kebab-house"], 1)
    (line,) = evidence.lines
    assert line.anchor == "kapsalon"
    assert ("melted", (Amount.EXTRA,)) in {(option.id, option.amounts) for option in line.options}


def test_more_lines_than_a_cart_holds_are_a_doubt() -> None:
    evidence = read_order(", ".join(["a latte"] * 14), CAFE, 1)
    assert evidence.crowded
    assert not any(line.required for line in evidence.lines)


@settings(max_examples=300, deadline=None)
@given(st.lists(st.sampled_from(WORDS), max_size=25))
def test_whatever_is_said_can_be_heard(words: list[str]) -> None:
    evidence = read_order(" ".join(words), CAFE, 1)
    assert all(1 <= n <= 99 for line in evidence.lines for n in line.quantities)


def test_a_number_with_no_line_to_count_is_a_doubt() -> None:
    menu = read_menu(REPOSITORY / "tests" / "told" / "taught" / "i" / "hot-ring-bagels.menu")
    said = "what comes on the pizza bagel? just sauce and mozzarella? great, two"
    assert not read_order(said, menu, 1).plain


def test_a_thing_that_is_called_like_an_amount_is_none() -> None:
    """ "Mustard, a lite": a drink of that name is ordered, and the mustard is not light."""
    menu = MENUS["copper-skillet"]
    lite = menu.items[-1].model_copy(update={"sku": "lite", "name": "Lite", "aliases": ()})
    evidence = read_order(
        "a hot dog with mustard, a lite", menu.model_copy(update={"items": (*menu.items, lite)}), 1
    )
    assert left_in_short(evidence) == "1 hot-dog mustard; 1 lite"


def test_easy_before_a_pause_is_how_eggs_come_and_no_amount() -> None:
    menu = read_menu(REPOSITORY / "tests" / "told" / "taught" / "b" / "route-9-diner.menu")
    for said in ("a two egg breakfast, easy, with bacon", "a two egg breakfast easy, with bacon"):
        assert left_in_short(read_order(said, menu, 1)) == "1 two-egg-breakfast over-easy, bacon"
