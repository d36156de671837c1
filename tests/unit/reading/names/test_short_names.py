"""Which shorter forms of a name are short names, and that none takes a name of the board away."""

from __future__ import annotations

import pytest

from services.reading.language.language import language
from services.reading.names.lexicon import Lexicon
from services.reading.names.short_forms import BoardName
from services.reading.names.short_names import short_names
from tests.carts import MENUS
from tests.charts import names_in


def forms(*names: tuple[str, str], single: bool = False) -> dict[str, str]:
    """Short forms of items, or of the choices of one group, by their words."""
    kind = ("option", "g") if single else ("item", "")
    told = [BoardName(tuple(name.split()), *kind, ref, single) for name, ref in names]
    taken = {tuple(name.split()): {kind[1] or "item"} for name, _ in names}
    found = short_names(told, taken, {}, language("en"))
    return {" ".join(short.words): short.ref for short in found}


def test_a_form_that_two_names_share_is_no_short_name() -> None:
    alone = forms(("oven roasted turkey sub", "turkey"), ("black forest ham sub", "ham"))
    assert alone["turkey"] == "turkey"
    assert "turkey" not in forms(("oven roasted turkey sub", "turkey"), ("turkey bacon wrap", "wrap"))
    assert "turkey" not in forms(("oven roasted turkey sub", "turkey"), ("turkey", "sliced"))


def test_what_makes_it_another_thing_is_not_left_out() -> None:
    assert "burger" not in forms(("veggy burger", "veggie"))
    assert "caesar salad" not in forms(("chicken caesar salad", "chicken"))
    assert "egg and cheese sandwich" not in forms(("bacon egg and cheese sandwich", "bacon"))
    assert "iced tea" not in forms(("peach iced tea", "peach"))
    assert "ham" not in forms(("vegan ham sub", "vegan"))
    assert "sausage biscuit" not in forms(("sausage egg biscuit", "egg"))
    assert "milk" not in forms(("chocolate milk", "chocolate"))
    assert "fry" not in forms(("sweet potato fry", "sweet"))
    assert forms(("french fry", "fries"), ("sweet potato fry", "sweet"))["fry"] == "fries"
    assert "4 baklava" not in forms(("4 piece baklava", "four"), ("honey baklava", "one"))


def test_of_choices_of_which_there_is_one_what_tells_them_apart_is_enough() -> None:
    roasts = forms(("light roast", "light"), ("dark roast", "dark"), single=True)
    assert roasts["dark"] == "dark"
    assert "half" not in forms(("cut in half", "half"), ("cut in four", "four"), single=True)


@pytest.mark.parametrize("name", MENUS)
def test_a_name_as_the_board_has_it_still_means_that(name: str) -> None:
    menu = MENUS[name]
    lexicon = Lexicon(menu)
    for item in menu.items:
        found = names_in(lexicon.heard(item.name), lexicon)
        whole = [m for m in found if m.kind == "item" and m.text == item.name.rstrip(".")]
        assert [sku for m in whole for sku in m.ids if sku == item.sku] == [item.sku], (item.name, found)
        called = {other.sku for other in menu.items if item.name in (other.name, *other.aliases)}
        assert {sku for m in whole for sku in m.ids} <= called, (item.name, found)
