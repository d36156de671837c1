"""Ways of speaking that were found with menus which no rule was written for, and what they leave."""

from __future__ import annotations

import pytest

from services.reading.chart.tokens import fold
from services.reading.language import english, talk, turns
from services.reading.order import read_order
from tests.unit.test_following import shown
from tests.unit.test_spoken_forms import MENUS

PIES, SUBS, BURGERS, BURRITOS = "pie-yard", "sub-dock", "patty-wagon", "casa-verde"


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # A size and an item that are named whole are no part of a longer name.
        (BURGERS, "a double cheeseburger with no pickles", "1 cheeseburger DBL no pickles"),
        # The same word is a size, an option or an amount, by what it stands before.
        (BURRITOS, "a medium coke and a burrito with medium and guac",
         "1 coke M; 1 burrito medium-salsa, guacamole"),
        (BURRITOS, "medium nachos with barbacoa", "1 nachos M barbacoa"),
        (BURGERS, "a little coke and a burger with a little cheese",
         "1 coke S; 1 hamburger light american-cheese"),
        # A name as it is written, and one that only looks like it with a "no".
        (SUBS, "a six inch ham with salt and pepper", "1 ham-sub SIX salt, black-pepper"),
        (BURRITOS, "two cokes, one with no ice", "1 coke no ice; 1 coke"),
        # Much, little and nothing.
        (SUBS, "a tuna sub with not too much mayo", "1 tuna-sub light mayo"),
        (PIES, "a small pizza sans cheese with heaps of arugula", "1 pizza S no cheese, extra arugula"),
        (SUBS, "a club, don't be stingy with the onions", "1 club-sub extra onions"),
        (PIES, "a large veggie, leave off the onions and the green peppers",
         "1 veggie L no onions, no green-peppers"),
        # The last of a list is the first item's, where the next does not come with it.
        (SUBS, "tuna with lettuce and mayo large coffee", "1 tuna-sub lettuce, mayo; 1 coffee L"),
        # What comes for what was taken back comes for nothing else.
        (PIES, "a small hawaiian and a garlic bread, forget the garlic bread, make it mozzarella sticks",
         "1 hawaiian S; 1 mozzarella-sticks"),
        # Refused after the name.
        (PIES, "meat lovers large ham off and pineapple on", "1 meat-lovers L no ham, pineapple"),
        (BURGERS, "a hamburger raw onion no thanks", "1 hamburger no onion"),
        (SUBS, "never tomato for me so a turkey sub with lettuce", "1 turkey-sub no tomatoes, lettuce"),
        # Counted after the name.
        (PIES, "garlic knots six piece, brownies two please and a can of sprite",
         "1 garlic-knots PC6; 2 brownie; 1 sprite CAN"),
        # Counted, and shared.
        ("harbor-coffee", "three large iced coffees with two sugars in each", "3 iced-coffee L 2 sugar"),
        # Kinds told apart by articles, and what all of them share.
        (BURGERS, "two large shakes, a chocolate and a strawberry",
         "1 shake L chocolate; 1 shake L strawberry"),
        (PIES, "two hawaiians, one large and one small, both with extra pineapple",
         "1 hawaiian L extra pineapple; 1 hawaiian S extra pineapple"),
    ],
)  # fmt: skip
def test_what_is_plain_on_any_menu(menu: str, words: str, cart: str) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert shown(evidence) == cart
    assert evidence.plain


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # One after the other.
        (SUBS, "two foot long veggies. On the first, avocado and spinach. On the second, mushrooms",
         "1 veggie-sub FOOT avocado, spinach; 1 veggie-sub FOOT mushrooms"),
        (PIES, "three medium pizzas two with pepperoni and olives and the third on thin crust with feta",
         "2 pizza M pepperoni, black-olives; 1 pizza M thin-crust, feta"),
        # A head, and the kinds of it.
        (SUBS, "three six inch subs a ham a tuna and a blt all on sourdough",
         "1 ham-sub SIX sourdough; 1 tuna-sub SIX sourdough; 1 blt-sub SIX sourdough"),
        (PIES, "four cans two coke zero and two orange fanta", "2 coke-zero CAN; 2 orange-fanta CAN"),
        # Made into another, with what it comes with too.
        (BURRITOS, "a steak bowl with brown rice, you know what, make it a burrito with guac",
         "1 burrito steak, brown-rice, guacamole"),
        (PIES, "three cans of coke. Two is enough", "2 coke CAN"),
        (SUBS, "a six inch tuna with mayo, the same but with mustard instead",
         "1 tuna-sub SIX mayo; 1 tuna-sub SIX mustard"),
        # In the place of what it comes with, though nobody said so.
        (PIES, "medium hawaiian with bacon instead of ham", "1 hawaiian M bacon, no ham"),
        # Counted only then.
        (BURRITOS, "sofritas tacos, two of them, on whole wheat", "2 taco sofritas, whole-wheat"),
        # Half of them.
        (PIES, "four cokes half in cans", "2 coke CAN; 2 coke"),
        # Talk.
        (SUBS, "a foot long blt. I've got water in the car. And a bag of chips", "1 blt-sub FOOT; 1 chips"),
        # Off the menu, on an item of it.
        (SUBS, "a six inch ham with a pineapple ring on it", "1 ham-sub SIX; 1 off the menu"),
        (BURGERS, "could I have the calamari and a small sprite", "1 sprite S; 1 off the menu"),
    ],
)  # fmt: skip
def test_what_is_proposed_to_a_human(menu: str, words: str, cart: str) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert shown(evidence) == cart
    assert not evidence.plain


@pytest.mark.parametrize(
    ("menu", "words"),
    [
        (SUBS, "a six inch tuna, and give the mayo a miss"),
        (SUBS, "I am allergic to onions, so a ham sub, please"),
        (SUBS, "a ham sub with no lettuce and pickles"),
        (BURGERS, "ten piece nuggets. Mustard no, honey mustard yes"),
        (BURRITOS, "a veggie burrito with fajita veggies and a veggie taco without them"),
        (BURGERS, "two coffees one cream and one sugar in each"),
        (SUBS, "sourdough for both a six inch pastrami with sauerkraut and a six inch roast beef"),
        (SUBS, "ham and cheddar turkey and swiss both foot longs"),
        (BURRITOS, "no sour cream on anything please, three chicken tacos and a steak quesadilla"),
        (BURRITOS, "two horchatas one large and one small and ice in neither"),
        (PIES, "my friend said get the hawaiian and I said no way so a small margherita"),
        (PIES, "two small pizzas for the kids, ham for her and pepperoni for him"),
        ("harbor-coffee", "a toasted plain bagel with butter and a sesame bagel done the same way"),
    ],
)
def test_what_may_be_meant_otherwise_is_never_settled(menu: str, words: str) -> None:
    assert not read_order(words, MENUS[menu], 1).plain


def test_a_measure_is_no_option_of_its_own() -> None:
    evidence = read_order("a medium latte with one shot of vanilla", MENUS["harbor-coffee"], 1)
    assert shown(evidence) == "1 latte M vanilla"


@pytest.mark.parametrize(
    "name",
    [
        "AMOUNTS",
        "ASKING",
        "EACH",
        "HAVING",
        "JOINTS",
        "ONLY",
        "REFUSING",
        "REFUSING_ALL",
        "THEIRS",
        "UNWISHED",
    ],
)
def test_words_that_are_looked_for_are_written_folded(name: str) -> None:
    """ "Heaps" is looked for as "heap": written otherwise it is known, and never understood."""
    words = set(next(getattr(module, name) for module in (english, turns, talk) if hasattr(module, name)))
    assert {fold(word) for word in words} == words
