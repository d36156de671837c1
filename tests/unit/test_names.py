"""Names that hold other names, numbers, amounts or sizes, on menus full of such traps (`tests/spoken/menus`);
and ways of speaking that a third set of writers brought."""

from __future__ import annotations

import pytest

from services.reading.order import read_order
from tests.unit.test_following import shown
from tests.unit.test_spoken_forms import MENUS

CURRY, CHICKEN, WOK, BAGELS = "saffron-garden", "cluck-stop", "golden-wok", "bagel-works"
SUSHI, DINER, BARBECUE, TEA = "sunset-sushi", "morning-diner", "smoke-barrel", "pearl-house"
CAFE, BURGERS, PIES, COMBOS = "harbor-coffee", "patty-wagon", "pie-yard", "copper-skillet"


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # A size between a number and a plural that is spelled almost as the menu has it.
        (CURRY, "three half chicken tandooris", "3 tandoori-chicken HALF"),
        (CURRY, "a couple of big murgh makhanis", "2 butter-chicken LRG"),
        (SUSHI, "two one piece salmon nigiris", "2 salmon PC1"),
        # An option and an item, whose words together hold or resemble another item's name.
        (CURRY, "a chicken tikka masala, medium, and a chicken korma",
         "1 tikka-masala chicken, medium; 1 korma chicken"),
        # A number, and the digit of a size.
        (CHICKEN, "two chicken nuggets, one six piece and one eight piece", "1 nuggets PC6; 1 nuggets PC8"),
        # An amount, and an option of the same word.
        (DINER, "two huevos rancheros easy on the country gravy", "2 huevos-rancheros light country-gravy"),
        (DINER, "three joes and add half-and-half, and a little milk", "3 coffee half-and-half, light milk"),
        # A hesitation, half of which sounds like a "no", though "you" is in a name.
        (WOK, "one you know rice and a sesame chicken", "1 white-rice; 1 sesame-chicken"),
        # Portions are counted.
        (TEA, "a medium oolong milk tea with two portions of boba", "1 oolong-milk-tea M 2 boba"),
        (CURRY, "Butter chicken, large, extra hot. That's everything.", "1 butter-chicken LRG extra-hot"),
        # Some of them, the other ones, and on one.
        (COMBOS, "Three cheeseburgers, one of them without onions.",
         "1 cheeseburger no onion; 2 cheeseburger"),
        (COMBOS, "four kids burgers all with apples and chocolate milk two of them without tomato",
         "2 kids-burger-meal apple-slices, chocolate-milk, no tomato; "
         "2 kids-burger-meal apple-slices, chocolate-milk"),
        (COMBOS, "four cheeseburgers: one without pickles, the other three with extra pickles",
         "1 cheeseburger no pickles; 3 cheeseburger extra pickles"),
        (PIES, "Two large pizzas, both with pepperoni, and one of them with jalapeños too.",
         "1 pizza L pepperoni, jalapenos; 1 pizza L pepperoni"),
        (CAFE, "Two large lattes with an extra shot each, and honey in just the one.",
         "1 latte L espresso, honey; 1 latte L espresso"),
        ("sub-dock", "Two roast beef subs, foot long, on rye: extra onions on one, light onions on the "
         "other.",
         "1 roast-beef-sub FOOT rye, extra onions; 1 roast-beef-sub FOOT rye, light onions"),
        # Numbers that add up by chance.
        (BURGERS, "two western burgers a medium sweet tea with lemon and a medium unsweet tea",
         "2 western-burger; 1 sweet-tea M lemon; 1 unsweet-tea M"),
        # Denied, and given up.
        ("casa-verde", "one steak quesadilla on flour wait not flour whole wheat and no sour cream",
         "1 quesadilla steak, whole-wheat, no sour-cream"),
        (CAFE, "medium latte with lavender oh no scratch the lavender put maple in it instead",
         "1 latte M maple"),
        # Asked for, not to be had, and nothing of it ordered.
        (PIES, "Do you guys have calzones? No? Okay, then a large Hawaiian with a stuffed crust.",
         "1 hawaiian L stuffed-crust"),
    ],
)  # fmt: skip
def test_what_is_plain(menu: str, words: str, cart: str) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert shown(evidence) == cart
    assert evidence.plain


@pytest.mark.parametrize(
    ("menu", "words"),
    [
        # "For" is no four before a name that begins with a number.
        (BAGELS, "order for two egg sandwiches, one with mayo"),
        (CHICKEN, "one no. 5 with coke"),
        # Two of one pound and one more, or one of each.
        (BARBECUE, "two pork shoulders, one pound and one half pound"),
        # An item can't be wished for lightly.
        (CURRY, "a madras and easy on the raita"),
        (COMBOS, "five cookies, three oatmeal and two chocolate chip"),
        (PIES, "a large pizza with pepperoni on one side"),
        # Almond milk and an iced coffee, as two recognisers heard them.
        (CAFE, "a large latte with honey and on the milk"),
        (CAFE, "get me a nice latte"),
        (PIES, "Do you have lasagna? Two of those please, and a coke"),
        ("sub-dock", "a large iced tea with lemon but not with ice"),
        (COMBOS, "a cheeseburger with bacon and a copper burger with cheddar, not swiss"),
    ],
)
def test_what_is_not(menu: str, words: str) -> None:
    assert not read_order(words, MENUS[menu], 1).plain


def test_a_number_that_is_a_name_orders_no_more_of_its_side() -> None:
    assert "5 coke" not in shown(read_order("one no. 5 with coke", MENUS[CHICKEN], 1))
