"""Ways of telling an order that came with the told orders g, i, j, l, y and z, and what they leave."""

from __future__ import annotations

import pytest

from services.reading.order import read_order
from tests.unit.test_following import shown
from tests.unit.test_spoken_forms import MENUS, only_cart

CAFE, DINER = "harbor-coffee", "copper-skillet"
COFFEE, SUBS, FISH = "daily-grind", "corner-sub", "chippy-lane"
BREAKFAST, ICE, JUICE, TACOS = "morning-diner", "scoop-shack", "juice-yard", "taco-corner"
BAGELS, KEBABS = "bagel-works", "kebab-house"
BARBECUE, CINEMA = "smoke-barrel", "reel-snacks"


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # By the names that it has as a part of a meal.
        (DINER, "large rings and a bowl of chili", "1 onion-rings LG; 1 chili"),
        (DINER, "a cheeseburger combo with rings and a coke", "1 cheeseburger-combo onion-rings, cola"),
        # Of what can be chosen once there may still be two.
        (CAFE, "a large coffee with two creams and two sugars", "1 drip-coffee L 2 cream, 2 sugar"),
        # How much is said afterwards.
        (CAFE, "an iced mocha, large, with oat milk and vanilla, just a touch",
         "1 iced-mocha L oat, light vanilla"),
        # "Just" before what a part has.
        (CAFE, "two large cold brews one with cold foam one with just a splash of milk",
         "1 cold-brew L cold-foam; 1 cold-brew L milk"),
        # "&", "n" and "and" are one word.
        (SUBS, "two bags of salt and vinegar chips", "2 sv-chips"),
        (FISH, "four large fish 'n' chips", "4 fish-and-chips LRG"),
        # A part of a name that points at what was ordered.
        (DINER, "a large cheeseburger meal with onion rings and a lemonade and no mayo on the burger",
         "1 cheeseburger-combo LG onion-rings, lemonade, no mayo"),
        # Talk that is no order.
        (CAFE, "a small latte, same as ever", "1 latte S"),
        (CAFE, "two mint teas, ta, it's been a long night", "2 mint-tea"),
        (CAFE, "a latte with soy and a mocha with no whip at all", "1 latte soy; 1 mocha no whipped-cream"),
        # A size in a name that the same thing has without it.
        (FISH, "five fishcakes and a can of coke", "5 fishcake; 1 coke CAN"),
        (FISH, "half a dozen pickled eggs", "6 pickled-egg"),
        (JUICE, "a six pack of flu shots", "1 flu-shot PAK"),
        (ICE, "two pints of vanilla and a quart of rocky road",
         "2 hand-packed PINT vanilla; 1 hand-packed QT rocky-road"),
        (ICE, "a quart of rocky road, hand packed", "1 hand-packed QT rocky-road"),
        # A number that was written as another word, and one that is a name.
        (ICE, "a too scoop cup of rocky road", "1 cup TWO rocky-road"),
        (BREAKFAST, "two number ones with bacon, scrambled", "2 two-eggs-meat bacon, scrambled"),
        (BREAKFAST, "3 cheese omelets with rye", "3 cheese-omelette rye"),
        # What sort of thing a choice is.
        (ICE, "a warm cookie sundae with vanilla ice cream", "1 cookie-sundae vanilla"),
        (ICE, "a double cookie dough in a waffle cone", "1 cone TWO cookie-dough, waffle-cone"),
        (BREAKFAST, "a number one, scrambled, with bacon and white toast",
         "1 two-eggs-meat scrambled, bacon, white"),
        (FISH, "two large cod and chips", "2 fish-and-chips LRG cod"),
        (FISH, "a small haddock and a large chips", "1 fish-only SML haddock; 1 chips LRG"),
        # The same as somebody else.
        (DINER, "I'll have a large coke and he'll have what I'm having", "2 cola LG"),
        (BARBECUE, "three sausage links and a bottle of the sweet and smoky sauce",
         "3 sausage-link; 1 sauce-bottle sweet"),
        # Nothing goes in.
        (CAFE, "a large black coffee", "1 drip-coffee L"),
        (CAFE, "a coffee, black, and a black tea", "1 drip-coffee; 1 english-breakfast"),
        (BREAKFAST, "four coffees, two with cream and two black", "2 coffee cream; 2 coffee"),
    ],
)  # fmt: skip
def test_what_is_plain(menu: str, words: str, cart: str) -> None:
    evidence = read_order(words, MENUS[menu], 1)
    assert shown(evidence) == cart
    assert evidence.plain


@pytest.mark.parametrize(
    ("menu", "words", "cart"),
    [
        # One more, one changed, one that is named again.
        (DINER, "a chocolate milkshake and a vanilla one, both large",
         "1 milkshake LG chocolate; 1 milkshake LG vanilla"),
        (CAFE, "two medium lattes and a brownie, change one of the lattes to a chai",
         "1 latte M; 1 brownie; 1 chai-latte M"),
        (CAFE, "two lattes, one small, one medium, and make the medium one extra hot",
         "1 latte S; 1 latte M extra hot"),
        (DINER, "a root beer and some fries, cajun on the fries", "1 root-beer; 1 fries cajun"),
        (FISH, "four pickled eggs and a large mushy peas. Actually three eggs'll do",
         "3 pickled-egg; 1 mushy-peas LRG"),
        (FISH, "a quarter pounder with cheese and onions, no gherkin",
         "1 quarter-pounder cheese, onions, no gherkin"),
        (BAGELS, "can i have to everything bagels with lox spread", "2 bagel everything, lox-spread"),
        (FISH, "Two fishcakes and a tea. You know what, just one fishcake", "1 fishcake; 1 tea"),
        (KEBABS, "two large kebab boxes with rice one lamb one kofte",
         "1 kebab-box LG rice, lamb; 1 kebab-box LG rice, kofte"),
        (FISH, "four chip butties two with beans on two with gravy",
         "2 chip-butty baked-beans; 2 chip-butty gravy"),
        (BREAKFAST, "half a dozen side eggs hard boiled all of them to go", "6 side-egg hard-boiled"),
        (CINEMA, "we need three kids packs two of them with sprite and skittles and the third one gets water"
         " and sour patch", "2 kids-pack sprite, skittles; 1 kids-pack water, sour-patch"),
        (CINEMA, "four hot dogs, two with just mustard, one with chili and onions, and the last one plain",
         "2 hot-dog mustard; 1 hot-dog chili, onions; 1 hot-dog"),
        (BREAKFAST, "five 7 Ups, three with ice, two without", "3 seven-up ice; 2 seven-up no ice"),
        (TACOS, "two shrimp tacos, two fish tacos and habanero salsa on just the shrimp ones",
         "2 shrimp-taco habanero; 2 fish-taco"),
        (TACOS, "a large carne asada bowl with brown rice. Same for me but a small one",
         "1 asada-bowl LG brown-rice; 1 asada-bowl SM brown-rice"),
        (FISH, "the scampi, no chips, with a wedge of lemon and some tartare sauce",
         "1 scampi lemon, tartare"),
        (FISH, "a senior's special with plaice, gravy on the chips and a 7 Up to drink",
         "1 pensioners-special plaice, gravy, seven-up"),
        (ICE, "a banana split with vanilla, chocolate and strawberry ice cream",
         "1 banana-split vanilla, chocolate, strawberry"),
        (CAFE, "avocado toast with egg and hot sauce, then the same again without the hot sauce",
         "1 avocado-toast egg, hot-sauce; 1 avocado-toast egg, no hot-sauce"),
        (DINER, "a hamburger, a turkey burger and the crispy chicken sandwich. Barbecue sauce on the"
         " chicken one",
         "1 classic-burger; 1 turkey-burger; 1 crispy-chicken-sandwich barbecue"),
        # Parts, and what is said of all that was ordered in one breath.
        (DINER, "three apple pies two with one scoop of ice cream each and the other one with two scoops",
         "2 apple-pie ice-cream; 1 apple-pie 2 ice-cream"),
        (CAFE, "two large americanos one gets two extra shots and the other one is decaf",
         "1 americano L 2 espresso; 1 americano L decaf"),
        (CAFE, "Two small coffees, mine decaf. Three chamomile teas, all with honey.",
         "1 drip-coffee S decaf; 1 drip-coffee S; 3 chamomile-tea honey"),
        # An amount of something, and no option that sounds like both.
        (COFFEE, "a medium white mocha with an extra shot", "1 white-mocha MD shot"),
        # Of something that was asked about, or asked for.
        (CAFE, "is there any chance of a small mocha?", "1 mocha S"),
        (CAFE, "How big is your large lemonade? One of those then, without ice.", "1 lemonade L no ice"),
        (DINER, "Do you do onion rings? Then a crispy chicken combo with those and a coke",
         "1 crispy-chicken-combo onion-rings, cola"),
        # What only sounds like a name, or tells of another day or of somebody's health.
        (CAFE, "A large mocha. Oh, I'd better make it a medium.", "1 mocha M"),
        (CAFE, "It's for the whole crew, so a dozen butter croissants", "12 butter-croissant"),
        (DINER, "She has got an egg allergy, so it's a turkey burger with just mustard",
         "1 turkey-burger mustard"),
        (DINER, "I had the mushroom burger last week and it was heavy, so a Caesar salad with ranch",
         "1 caesar-salad ranch"),
        # Off the menu, though a word of it is on it.
        (CAFE, "a small latte, and on the side I'd like hash browns", "1 latte S; 1 off the menu"),
        (CAFE, "a small latte and two of those little cake pops", "1 latte S; 2 off the menu"),
        (CAFE, "an iced latte, and can you put pistachio syrup in that?", "1 iced-latte; 1 off the menu"),
        (DINER, "a copper burger and a root beer, lose the root beer, doctor's orders", "1 copper-burger"),
    ],
)  # fmt: skip
def test_what_is_proposed(menu: str, words: str, cart: str) -> None:
    assert shown(read_order(words, MENUS[menu], 1)) == cart


@pytest.mark.parametrize(
    ("menu", "words"),
    [
        # Heavy on the vinegar too, or not?
        (SUBS, "the Italian combo, footlong, heavy on the oil and vinegar"),
        # Two cokes more, and no two of the combo's.
        ("patty-wagon", "a double cheeseburger combo with ice and a couple of cokes with ice"),
        ("kebab-house", "an iskender with medium hot, four hummus"),
        # "Light roast iced coffee", as two recognisers heard it.
        (CAFE, "Get me a light rose-times coffee with sweetener"),
        # One coke, two of them, or a root beer for him too?
        (DINER, "i'll have a coke and he'll have what i'm having and she'll have a root beer"),
        # Six of them, or a pack of six?
        (JUICE, "half a dozen flu shots"),
        # Another day's order.
        (CAFE, "a small latte, last week i had the mocha"),
    ],
)
def test_what_may_mean_something_else_is_never_settled(menu: str, words: str) -> None:
    assert only_cart(read_order(words, MENUS[menu], 1)) is None
