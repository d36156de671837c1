"""The reader's mask opens every short form of its menu, and nothing else."""

from __future__ import annotations

import pytest
from llguidance import LLMatcher

from schemas.menu import Menu
from services.decoding.mask import Mask
from services.decoding.short_form import Names
from services.decoding.short_mask import short_mask
from tests.unit.engines.test_short_form import CAFE, NAMES, taught

BAR = Menu.parse(
    {
        "id": "bar",
        "name": "Bar",
        "currency": "EUR",
        "option_groups": [
            {"id": "milk", "name": "milk", "options": [{"id": "oat", "name": "oat milk"}]},
            {"id": "shot", "name": "shot", "options": [{"id": "two", "name": "double"}]},
        ],
        "items": [
            {"sku": "espresso", "name": "Espresso", "price": 200, "option_groups": ["shot"]},
            {"sku": "macchiato", "name": "Espresso Macchiato", "price": 250, "option_groups": ["milk"]},
            {"sku": "cake", "name": 'Cake "Sacher" 1\\2', "price": 400},
        ],
    }
)


@pytest.fixture(scope="module")
def cafe() -> Mask:
    return short_mask(CAFE, NAMES)


@pytest.fixture(scope="module")
def bar() -> Mask:
    return short_mask(BAR, Names(BAR))


# Sizes, options that begin like an amount, and one with both and long names.
@pytest.mark.parametrize("name", ["golden-dragon", "frankies-franks", "the-woolpack"])
def test_every_cart_that_was_written_is_inside(name: str) -> None:
    shop = taught()[name]
    mask = short_mask(shop.menu, shop.names)
    carts = {shop.names.write(row.lines) for row in shop.rows}
    assert len(carts) > 50
    assert [text for text in sorted(carts) if not mask.accepts(text)] == []


@pytest.mark.parametrize("name", sorted(taught()))
def test_the_grammar_of_every_menu_compiles(name: str) -> None:
    shop = taught()[name]
    assert not LLMatcher.validate_grammar(short_mask(shop.menu, shop.names).lark)


@pytest.mark.parametrize(
    "text",
    [
        "nothing",
        "1 ?",
        "1 Latte",
        "999 small | Latte + hot + no extra hot; 2 ?",
        "1 Latte + extra extra hot x2",
        "1 Toast Jam + cheese (filling) + light Cheese (topping)",
    ],
)
def test_short_forms_are_inside_and_can_be_read(text: str, cafe: Mask) -> None:
    assert cafe.accepts(text)
    assert NAMES.write(NAMES.read(text)) == text


@pytest.mark.parametrize(
    "text",
    [
        "",
        "1 Mocha",
        "1 Latte + ham",  # another item's
        "1 Roll + cheese (topping)",
        "1 large | Roll",  # it has no sizes
        "1 huge | Latte",
        "0 Latte",
        "01 Latte",
        "1000 Latte",
        "Latte",
        "1 Latte;",
        "1 Latte + ",
        "1 Latte + hot x1",
        "1 Latte + hot x0",
        "nothing; 1 Latte",
        "1 Latte, please",
        "1 latte",  # as the menu spells it
    ],
)
def test_nothing_else_is_inside(text: str, cafe: Mask) -> None:
    assert not cafe.accepts(text)


def test_a_name_within_a_longer_one_keeps_its_own_options(bar: Mask) -> None:
    assert bar.accepts("1 Espresso + double")
    assert bar.accepts("1 Espresso Macchiato + oat milk; 1 Espresso")
    assert not bar.accepts("1 Espresso + oat milk")
    assert not bar.accepts("1 Espresso Macchiato + double")


def test_signs_of_the_grammar_in_a_name_are_only_signs(bar: Mask) -> None:
    names = Names(BAR)
    assert bar.accepts(f"1 {names.items['cake']}")


def test_an_item_without_options_ends_with_its_name(bar: Mask) -> None:
    assert not bar.accepts(f"1 {Names(BAR).items['cake']} + double")
