"""Words of allergy and diet: none passes, and hardly anything else is taken for them."""

from __future__ import annotations

import re

import pytest

from schemas.cart import NoteKind
from services.validation.allergy import dietary_words, with_allergy_note
from tests.pizzeria import PIZZERIA, draft

DIETARY = """
I have a peanut allergy, can I get a cookie and a latte
a cookie and a latte, I'm allergic to nuts
two lattes and my son is allergic to dairy so oat milk in his
can I get a burger, no cheese, I'm lactose intolerant
one pad thai no shrimp because of a shellfish allergy
a muffin please, is it gluten free
I'm celiac, what can I have, a salad I guess
a coeliac friend is eating with us so a jacket potato
a burger without the bun, I can't eat gluten
I can't have dairy, so a latte with oat
a cheesecake, but my daughter can not have eggs
we are vegan, two burgers please
I'm a vegetarian, one burrito
the pizza has to be vegetarian
a chicken wrap, halal please
can you make sure it's kosher, a bagel
no nuts in the sundae, it could be fatal for him
no peanuts please they make my throat swell
a sundae with no nuts or I get hives
no egg on the burger, eggs give me a rash
peanuts will kill me so please no peanut sauce
does the brownie contain nuts
does the pesto have nuts in it, one pesto pasta
are there nuts in the brownie
is there any dairy in the bread
are the fries cooked in peanut oil
do you use a separate fryer for the fries
please watch out for cross contamination, one salad
may contain traces of nuts is not ok for us, a cookie
a tea, I'm diabetic so no sugar please
I'm pregnant, so a burger well done
a soup, I'm on a low sodium diet
I'm on a keto diet, a burger without bun
my doctor said no salt, a plain omelette
a burrito without pork for religious reasons
I don't eat meat, so the falafel
we don't eat pork, two kebabs
my kid doesn't tolerate milk, a hot chocolate with soy
please no dairy in anything
a dairy-free latte
a nut free brownie
can I have something with no gluten
anything with sesame is bad for me, a bagel
he has an epipen so please no nuts at all
he goes into anaphylactic shock, no nuts
a latte, keep it away from nuts
dairy doesn't agree with me, so an americano
milk upsets my stomach, soy latte please
I react badly to soy, a chicken bowl
I had a bad reaction to shrimp, so fried rice with chicken
she's sensitive to gluten, a salad
I have a sesame intolerance, a plain bagel
it needs to be safe for nut allergies, a cookie
is the cookie vegan
plant based only please, a burger
i have a alergy to strawberries so a banana smoothie
tiene alergia al cacahuate, un helado
soy alérgica a las nueces, un brownie
soy celíaco, una hamburguesa
sin gluten por favor, una pizza
no puedo comer lácteos, un café
soy intolerante a la lactosa, un café con leche
la leche me cae mal, un café solo
soy vegano, una hamburguesa
no como carne, unos tacos
estoy embarazada, un café descafeinado
soy diabético, un té sin azúcar
¿el pastel contiene nueces?
¿es apto para celíacos?
my wife is severely allergic, so no shellfish in the paella
no allergies except peanuts, a cookie
I'm pescatarian, so a tuna roll
my son can't drink milk, a juice for him
we have nut allergies in the family, four sundaes
change your gloves please, a turkey sub
I end up in the hospital if I have shrimp, a poke bowl with tofu
I'll break out if there is egg, a wrap
I get sick from dairy, a black coffee
nothing with peanuts, please, and a pad thai
a pizza, I'm avoiding gluten
a muffin, does it have nuts?
any nuts in that?
are the tamales made with lard?
has it got nuts in it
does the pesto have pine nuts
do the beans have lard
my daughter has a nut thing
I'm not able to eat eggs
what oil do you fry in
one salad, raw onions wreck my gut
I break into welts from shrimp, so the chicken bowl
I'm not supposed to be near peanuts, a sundae
he vomits when he has eggs, a burger for him
milk makes me gassy, so oat please
tell the cook no nuts at all, it's a health thing
I had weight surgery, so no sugar, a tea
two tacos and I need to know if the sauce has peanuts
one bowl please, and heads up, walnuts close up my airways
a croissant, but the little one gets a swollen lip from eggs
which of these can somebody with a nut problem order
could the cook leave out anything with milk, my baby reacts through my milk
two pizzas, one of us is off gluten
a curry please, we stay away from beef at home
do your wraps have any sesame on them
what's in the green sauce, I have to watch for nuts
is the soup thickened with flour
a sandwich, my husband has celiacs so a fresh board please
no shellfish whatsoever, doctor was very clear, and a pasta
I carry an EpiPen for bees and almonds, one salad
hold the cheese, lactose and I are not friends
does the batter use wheat flour
a brownie, I'd end up in the ER with a walnut in it
is that bread okay for a wheat-free person
are your noodles egg free
my girlfriend's vegan so nothing from animals in hers
one burrito, soy gives my daughter eczema
a smoothie, and mind that I'm allergic
"""
HARMLESS = """
nuts on top please
no nuts on the sundae
a sundae with extra nuts
a diet coke
a large diet please
two diet cokes and a cheeseburger
a burger with no cheese and no onions
a latte with almond milk
an oat milk latte
a peanut butter cookie
a soy latte, extra hot
a tea without sugar
no sugar in the coffee please
a latte with no milk foam
a burger without pickles
a shrimp taco and a fish taco
a milkshake with whipped cream
two eggs over easy, no toast
I can't decide, a latte please
I can't wait, two burgers please
I could kill for a coffee
I'm nuts about your brownies, two please
do you have almond milk, a latte with that
do you have any nuts for the sundae
no allergies, just a latte
I don't have any allergies, a cookie please
a decaf coffee
skim milk cappuccino
an egg sandwich with no meat
a steak, medium rare, and a beer
a butter croissant and a cheese bagel
the salad shouldn't have dressing
a large doctor pepper
una hamburguesa sin cebolla
un café sin azúcar
una coca de dieta
dos helados con nueces
feel free to add ketchup, a hot dog
delivered to the hospital lobby, two lattes
sorry, not the bagel, a muffin
a walnut brownie and a big milk
two egg rolls, no wait, three
the fish and chips with a side of mushy peas
cheese on half of it, and that's everything
could you put the nuts in a little cup
a peanut butter shake with extra whipped cream
skip the mustard, double the pickles
I'd like my eggs sunny side up
any chance of a corn dog without the bun
we're starving, so three burgers quick
butter on the toast and jam next to it
a beef taco, cream on that too
do you have the honey one today
my son wants the fish sticks
the usual, a soy latte and a cheese danish
give me a coke in the can, not the glass
it's hot out there, so an iced coffee with milk
how much is the shrimp basket
a coconut water, is it cold
can you do the onions on the side
"""
ROWS = [row for row in DIETARY.strip().splitlines() if row]
OTHERS = [row for row in HARMLESS.strip().splitlines() if row]
NAMED = [
    ("a vegan burger", ["vegan burger"]),
    ("two vegetarian pizzas", ["vegetarian pizza"]),
    ("a burger on a gluten-free bun", ["burger", "gluten free bun"]),
    ("a sugar free vanilla latte", ["latte", "sugar-free vanilla"]),
    ("una pizza sin gluten", ["pizza sin gluten"]),
]
NOT_EXPLAINED = [
    ("a gluten free bun, and are the fries gluten free", ["burger", "gluten free bun", "fries"]),
    ("I'm vegan, a vegan burger", ["vegan burger"]),
    ("a nut-free brownie, I have a nut allergy", ["nut free brownie"]),
]


def plain(sentence: str) -> str:
    """As a recogniser that writes no punctuation has it."""
    return " ".join(re.findall(r"[\w'-]+", sentence.lower()))


@pytest.mark.parametrize("sentence", [*ROWS, *map(plain, ROWS)])
def test_no_allergy_is_missed(sentence: str) -> None:
    assert dietary_words(sentence, ())
    (note,) = with_allergy_note(draft(), PIZZERIA, sentence).notes
    assert note.kind is NoteKind.ALLERGY
    assert note.heard in sentence


def test_at_most_two_of_the_harmless_are_taken_for_one() -> None:
    for spell in (str, plain):
        assert len([row for row in OTHERS if dietary_words(spell(row), ())]) <= 2


@pytest.mark.parametrize(("sentence", "names"), NAMED)
def test_what_the_cart_is_called_explains_the_words(sentence: str, names: list[str]) -> None:
    assert dietary_words(sentence, ()) is not None
    assert dietary_words(sentence, names) is None


@pytest.mark.parametrize(("sentence", "names"), NOT_EXPLAINED)
def test_no_name_in_the_cart_explains_what_is_said_of_a_person(sentence: str, names: list[str]) -> None:
    assert dietary_words(sentence, names)


def test_the_words_come_with_those_around_them() -> None:
    said = "One latte, two bagels and I have a severe nut allergy, so please no nuts in it."
    found = dietary_words(said, ())
    assert found == "I have a severe nut allergy, so please no nuts in"
