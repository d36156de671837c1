"""Names in the wire format, on a menu with duplicates and on all training menus."""

from __future__ import annotations

from schemas.menus.nesting import source
from services.decoding.menu_names import Names
from services.decoding.menu_text import menu_text
from services.learning.training.orders import shops
from tests.ambiguous_menu import CAFE

NAMES = Names(CAFE)


def test_an_ambiguous_option_is_written_with_its_group() -> None:
    toast, roll = CAFE.items[1], CAFE.items[2]
    assert [choice.name for choice in NAMES.choices(toast)] == [
        "cheese (filling)", "ham", "Cheese (topping)", "nuts salted",
    ]  # fmt: skip
    assert [choice.name for choice in NAMES.choices(roll)] == ["cheese", "ham"]


def test_names_are_unique_and_appear_in_the_prompt() -> None:
    """On every training menu, since the model copies the names."""
    for shop in (one for part in ("train", "tune") for one in shops(part)):
        name = shop.menu.id
        assert len(set(shop.names.items.values())) == len(shop.menu.items), name
        text = menu_text(shop.menu, shop.names)
        for item in shop.menu.items:
            choices = {(choice.name, source(choice.group), choice.id) for choice in shop.names.choices(item)}
            assert len({written for written, *_ in choices}) == len(choices), (name, item.name)
            written = (shop.names.items[item.sku], *(shop.names.sizes[size] for size in item.size_ids))
            assert [one for one in written if one not in text] == [], name
