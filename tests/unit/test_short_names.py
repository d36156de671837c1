"""Names said shorter than the board has them, and items that are only said by their choices, on menus that
give hardly any aliases (`tests/told/menus`)."""

from __future__ import annotations

import pytest

from services.reading.language.language import language
from services.reading.names.lexicon import Lexicon
from services.reading.names.short_forms import BoardName
from services.reading.names.short_names import short_names
from services.reading.order import read_order
from tests.unit.test_following import shown
from tests.unit.test_spoken_forms import MENUS, only_cart

SUBS, PIES, BURGERS, COFFEE, TACOS = (
    "corner-sub", "nonna-slice", "burger-barn", "daily-grind", "taco-corner",
)  # fmt: skip
BAGELS, DEPOT, DINER = "bagel-works", "pizza-depot", "copper-skillet"


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # Without the sort of thing, and without how it was made.
        (SUBS, "a footlong turkey on wheat with swiss", "1 turkey 12IN wheat, swiss"),
        (SUBS, "a six inch meatball on white bread", "1 meatball 6IN white"),
        (SUBS, "a bowl of the tomato basil and a grilled cheese", "1 tomato-soup BOWL; 1 grilled-cheese"),
        (SUBS, "a bag of Doritos and a bottled water", "1 doritos; 1 water"),
        (BURGERS, "large fries and two milks", "1 fries L; 2 milk"),
        (BURGERS, "a double mushroom swiss with bacon", "1 mushroom-swiss DBL bacon"),
        (BURGERS, "large fries with chili on top", "1 fries L chili-top"),
        (COFFEE, "a large chai with oat", "1 chai LG oat"),
        (COFFEE, "a medium coffee, dark roast", "1 coffee MD dark-roast"),
        (COFFEE, "a medium cold brew with vanilla and no whip", "1 cold-brew MD vanilla, no whip"),
        (COFFEE, "two oatmeal cookies and a slice of banana bread", "2 oat-cookie; 1 banana-bread"),
        (PIES, "a small house salad with ranch", "1 house-salad SM ranch-dressing"),
        (PIES, "half a dozen garlic knots and two bottles of water", "6 garlic-knots; 2 water"),
        (TACOS, "a large watermelon and a small tamarind", "1 watermelon LG; 1 tamarind SM"),
        # Said by its choices.
        (BAGELS, "an everything bagel, toasted, with scallion cream cheese",
         "1 bagel everything, toasted, scallion-cc"),
        (BAGELS, "a BLT on a plain bagel, toasted", "1 blt plain, toasted"),
        (BAGELS, "two plain bagels with butter and one sesame bagel with jelly",
         "2 bagel plain, butter; 1 bagel sesame, jelly"),
        (PIES, "a large with ham and pineapple", "1 byo LG ham, pineapple"),
        (PIES, "two larges on thin crust and a small with pepperoni",
         "2 byo LG thin; 1 byo SM pepperoni"),
        # Any pizza may have chicken on it, and need not be the buffalo one.
        (PIES, "a small chicken pizza", "1 byo SM chicken"),
        (BAGELS, "a three egg omelette with avocado and everything bagel",
         "1 three-egg-omelette avocado, everything-bagel"),
        # The four is of a name, and makes no number of the extra.
        ("sub-dock", "a six inch veggie cut in four, extra chipotle mayo",
         "1 veggie-sub SIX cut-in-four, extra chipotle-mayo"),
        # A sound-alike of the whole name, which holds a short form of it.
        ("daily-grind", "a large coffee, dark rose", "1 coffee LG dark-roast"),
        # Said of all, and of what it comes in.
        (BURGERS, "a turkey burger and a veggie burger, each with avocado",
         "1 turkey-burger avocado; 1 veggie-burger avocado"),
    ],
)  # fmt: skip
def test_what_is_plain_though_the_board_says_more(menu: str, words: str, cart: str) -> None:
    assert shown(read_order(words, MENUS[menu], 1)) == cart


@pytest.mark.parametrize(
    ("menu", "words"),
    [
        # Another thing than the one that has this word in its name.
        (SUBS, "a milk"),
        (SUBS, "a broccoli salad"),
        (SUBS, "a turkey club, six inch"),
        (SUBS, "a six inch veggie with turkey"),
        (COFFEE, "a banana"),
        (DINER, "two fish tacos"),
        # One of several, or one with bacon; no "Barn burger", though it sounds like it.
        (BURGERS, "a single bacon burger with mushrooms"),
        # There is a pepperoni pizza, and one to build with pepperoni.
        (DEPOT, "large pep, thin crust"),
        # One six piece, or six of them?
        (DEPOT, "half a dozen wings, naked"),
        # Nothing of the menu may be lost within a name.
        (BAGELS, "half pound tub of veggie cream cheese to go"),
        # A choice of the potato, or a thing of its own?
        ("smoke-barrel", "a baked potato with butter, and put chopped brisket on it"),
    ],
)
def test_what_may_be_another_thing_is_never_settled(menu: str, words: str) -> None:
    assert only_cart(read_order(words, MENUS[menu], 1)) is None


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
        found = lexicon.find(item.name, lexicon.heard(item.name))
        whole = [m for m in found if m.kind == "item" and m.text == item.name.rstrip(".")]
        assert [sku for m in whole for sku in m.ids if sku == item.sku] == [item.sku], (item.name, found)
        called = {other.sku for other in menu.items if item.name in (other.name, *other.aliases)}
        assert {sku for m in whole for sku in m.ids} <= called, (item.name, found)
