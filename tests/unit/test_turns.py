"""Turns of phrase by which one thing that is said speaks of another, as the second reading follows them."""

from __future__ import annotations

import pytest

from schemas.cart import Amount
from services.reading.order import read_order
from tests.unit.test_following import shown
from tests.unit.test_spoken_forms import MENUS

CAFE, DINER, PIZZERIA = "harbor-coffee", "copper-skillet", "stone-oven"
SUBS, KEBABS = "sub-dock", "kebab-house"


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # Kinds without the thing that they are of, and what only announces them.
        (CAFE, "six cookies: four chocolate chip and two oatmeal",
         "4 chocolate-chip-cookie; 2 oatmeal-cookie"),
        (CAFE, "two large teas, one mint and one green", "1 mint-tea L; 1 green-tea L"),
        (SUBS, "three soups, a bowl of tomato and two cups of chicken noodle",
         "1 tomato-soup BOWL; 2 chicken-noodle-soup CUP"),
        (PIZZERIA, "three pizzas, all large: a hawaiian, a veggie and a supreme",
         "1 hawaiian L; 1 veggie L; 1 supreme L"),
        # What is done to an item.
        (CAFE, "four muffins, blueberry, warm up two of them",
         "2 blueberry-muffin warmed; 2 blueberry-muffin"),
        # Parts: as they come, whose they are, of which of two.
        (DINER, "four hot dogs, two as they come and two with no ketchup", "2 hot-dog; 2 hot-dog no ketchup"),
        (DINER, "two patty melts and a cola. On the melts, one gets bacon, the other avocado",
         "1 patty-melt bacon; 1 patty-melt avocado; 1 cola"),
        (DINER, "two cheeseburgers, mine with bacon and hers with avocado",
         "1 cheeseburger bacon; 1 cheeseburger avocado"),
        (CAFE, "a latte and a mocha, oat on the first and soy on the second", "1 latte oat; 1 mocha soy"),
        (CAFE, "two lattes, one small with oat, the other exactly the same but large",
         "1 latte S oat; 1 latte L oat"),
        (CAFE, "two lattes; the large one gets oat, the small one gets soy", "1 latte L oat; 1 latte S soy"),
        (KEBABS, "two doner kebabs one large one small the large one with chili sauce",
         "1 doner-kebab LG chili; 1 doner-kebab SM"),
        # Turned into another item.
        (CAFE, "two chai lattes, both iced", "2 iced-chai-latte"),
        (CAFE, "three mochas, make one of them iced", "1 iced-mocha; 2 mocha"),
        # Like another line.
        (CAFE, "my wife wants a large latte and I want the same size but a mocha", "1 latte L; 1 mocha L"),
        # Taken back, and said again.
        (CAFE, "three brownies, no, two is plenty", "2 brownie"),
        (CAFE, "a large mocha and a tea, forget the tea", "1 mocha L"),
        (CAFE, "a latte, three brownies and a mocha. No, let me start over. Two mochas", "2 mocha"),
        (CAFE, "two mochas and a latte, no, other way round, one mocha and two lattes", "1 mocha; 2 latte"),
        (DINER, "ten piece nuggets with ranch and a twenty piece with honey mustard, make the twenty piece a"
         " ten piece", "1 chicken-nuggets PC10 ranch; 1 chicken-nuggets PC10 honey-mustard"),
        (CAFE, "do you have oat milk? Great, a small latte with that", "1 latte S oat"),
        # Off the menu.
        (DINER, "a chili, a plate of nachos and a cola", "1 chili; 1 cola; 1 off the menu"),
        (DINER, "a hot chocolate and a cola", "1 cola; 1 off the menu"),
        (DINER, "four donuts and a cola, no, make it two donuts", "1 cola; 2 off the menu"),
        (DINER, "my son wants a slice of pizza and I want a cola", "1 cola; 1 off the menu"),
    ],
)  # fmt: skip
def test_what_is_proposed(menu: str, words: str, cart: str) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert shown(evidence) == cart
    assert not evidence.plain, "a human still looks at it"


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        (CAFE, "a chocolate chip cookie and an oatmeal one", "1 chocolate-chip-cookie; 1 oatmeal-cookie"),
        (CAFE, "a plain bagel with butter and a sesame bagel with jam, toast them both",
         "1 plain-bagel butter, toasted; 1 sesame-bagel jam, toasted"),
        (CAFE, "two mochas, whip and cinnamon on one, no foam on the other",
         "1 mocha whipped-cream, cinnamon; 1 mocha no foam"),
        (DINER, "a bowl of chili with onions and cheese, make it jalapenos instead of the onions",
         "1 chili jalapenos, american-cheese"),
    ],
)  # fmt: skip
def test_what_is_accepted(menu: str, words: str, cart: str) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert shown(evidence) == cart
    assert evidence.plain


@pytest.mark.parametrize(
    ("menu", "words"),
    [
        (SUBS, "a six inch tuna with ranch. Sorry, honey mustard, I'm off ranch"),
        (CAFE, "I've got a latte work to do. One espresso"),
        ("scoop-shack", "four ice cream sandwiches with oreo crumbs and a coffee"),
        (KEBABS, "a chicken doner with tomato sauce and six houmous"),
    ],
)
def test_what_may_mean_two_things_is_looked_at(menu: str, words: str) -> None:
    assert not read_order(words, MENUS[menu], 1).plain


def test_a_name_in_pieces_has_no_amount_in_its_gap() -> None:
    """It is also called "kapsalon with cheese", which would have swallowed the "extra"."""
    (line,) = read_order("a kapsalon with lamb extra cheese and garlic sauce", MENUS[KEBABS], 1).lines
    assert line.anchor == "kapsalon"
    assert ("melted", (Amount.EXTRA,)) in {(option.id, option.amounts) for option in line.options}


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # Nobody says less twice over: the split is meant, not one of all and more of some.
        (DINER, "two large cokes no ice in one of them", "1 cola LG no ice; 1 cola LG"),
        # "Each" is of the item before.
        (DINER, "five hot dogs with onions and two large onion rings, barbecue sauce with each",
         "5 hot-dog onion; 2 onion-rings LG barbecue"),
    ],
)  # fmt: skip
def test_the_likelier_of_two_carts(menu: str, words: str, cart: str) -> None:
    assert shown(read_order(words, MENUS[menu], 1)) == cart
