"""How a menu's things are written in a cart, on a menu with traps and on all that orders were written for."""

from __future__ import annotations

from functools import cache

import pytest

from services.decoding.menu_names import Names
from services.learning.training.orders import TUNED, Shop, shops
from tests.cafe_of_twins import CAFE

NAMES = Names(CAFE)


@cache
def taught() -> dict[str, Shop]:
    """The menus of tests/told/taught with their orders, those that are tuned on as well."""
    return {shop.menu.id: shop for part in ("train", "tune") for shop in shops(part) if _taught(shop)}


def _taught(shop: Shop) -> bool:
    return shop.menu.id in TUNED or any(row.source.startswith("taught/") for row in shop.rows)


def test_an_option_that_two_groups_call_alike_is_written_with_its_group() -> None:
    toast, roll = CAFE.items[1], CAFE.items[2]
    assert [choice.name for choice in NAMES.choices(toast)] == [
        "cheese (filling)", "ham", "Cheese (topping)", "nuts salted",
    ]  # fmt: skip
    assert [choice.name for choice in NAMES.choices(roll)] == ["cheese", "ham"]


def test_names_have_no_mark_that_the_reader_never_saw() -> None:
    assert NAMES.items["toast"] == "Toast Jam"
    assert NAMES.sizes == {"S": "small", "L": "large"}


@pytest.mark.parametrize("name", sorted(taught()))
def test_no_two_things_of_a_menu_are_written_alike(name: str) -> None:
    shop = taught()[name]
    assert len(set(shop.names.items.values())) == len(shop.menu.items)
    for item in shop.menu.items:
        choices = [choice.name for choice in shop.names.choices(item)]
        assert len(set(choices)) == len(choices), item.name
