"""Words of a menu's names by what they say about the thing: what sort it is, that it is another one than the
plain one, or nothing of its own. English; all of them folded (`words.fold`).
"""

from __future__ import annotations

from services.reading.chart.tokens import fold
from services.reading.language.english import AMOUNTS, FILLERS, JOINTS, MEASURES, NUMBERS, VESSELS
from services.reading.language.language import language

_EN = language("en")


def _folded(words: str) -> frozenset[str]:
    return frozenset(fold(word, _EN) for word in words.split())


# Say what sort of thing a name is; what stands before them is used alone ("a large Hawaiian", "with ranch").
ITEM_SORTS = _folded(
    "sub sandwich hoagie hero burger pizza wrap panini melt salad soup chowder taco burrito quesadilla"
    " omelette omelet cheesesteak"
)
OPTION_SORTS = _folded(
    "cheese bread sauce dressing crust bun syrup milk seasoning topping spread drizzle dip powder"
    " vinaigrette heart wedge rim tortilla shell"
)
# Of these the sorts that are made of something: a garlic sauce is no garlic.
MADE_OF = _folded("sauce dip spread vinaigrette powder drizzle")
# More than what is named before them: a "double cheeseburger" is no combo.
BUNDLES = _folded(
    "combo meal platter plate box pack dinner lunch breakfast special kid kids side extra set bundle"
)
# What things come in.
HOLDERS = VESSELS | MEASURES | _folded("carton pack packet tub jar pouch basket tray bucket")

# Things that a customer names without what is before them on the board, where there is only one of the sort.
HEADS = _folded(
    "fries tots nuggets tenders wings strips rings knots sticks bites curds skins poppers dumplings chips"
    " brownie cookie muffin scone pie cake cheesecake tart turnover cannoli tiramisu sundae cone shake"
    " smoothie lemonade limeade kombucha chili coleslaw slaw zucchini pickle spear ribs brisket pastrami"
    " lasagna cheesesteak calzone stromboli club reuben edamame pretzel nachos guacamole hummus pita"
    " mushroom onion olive tomato spinach cucumber cabbage carrot corn jalapeno pineapple artichoke basil"
    " oregano cilantro parsley garlic lettuce avocado pepper shot drizzle sausage chicken beef ham bacon"
    " pepperoni salami meatball anchovy shrimp egg cherry sprinkles fudge caramel whip foam honey vinegar"
    " ketchup mustard mayo relish croutons crackers parmesan mozzarella provolone cheddar rye wheat"
    " sourdough ciabatta baguette"
)
# Of these the items that are had plain: named more closely they are other things ("sweet potato fries").
PLAIN_HEADS = _folded(
    "fries chicken beef ham bacon sausage shrimp egg onion tomato garlic caramel pepper shot"
)
# Things in their own right: what is made of them or with them may not be called by them alone.
THINGS = HEADS | _folded(
    "cream milk egg bean potato cheese butter water coffee tea rice pizza burger bread chocolate vanilla"
    " lemon orange apple banana strawberry peanut sugar fish steak pork turkey tuna salmon"
)
# What a thing tastes of or is made with; without it, it is another one ("peach iced tea").
TASTES = THINGS | _folded(
    "buffalo barbecue bbq teriyaki peach mango raspberry blueberry blackberry cherry lime mint peppermint"
    " thai hazelnut pumpkin maple coconut ginger cinnamon pesto alfredo marinara cajun sriracha nacho ranch"
    " swiss walnut almond pecan oreo matcha rose lavender tofu crab lobster lamb duck"
)
GRAINS = _folded("white wheat rye sourdough")

# May be left out anywhere: they praise, or say how a thing was made, and there is no other without them.
IDLE = _folded(
    "fresh freshly squeezed house homemade home made classic original signature traditional crispy golden"
    " fried french tater bottled purified premium famous old fashioned cut oven roasted grilled sliced"
    " chopped grated shredded ground baby vine ripe wild organic real creamy steamed baked kosher"
    " maraschino sauteed soft the add forest virginia oyster rainbow wine marble garden italian"
    " cabbage"
)
# Say that a thing is another than the plain one.
DEFINING = _folded(
    "vegan veggie vegetarian vegetable plant based beyond impossible turkey diet zero light lite low fat"
    " nonfat non skim sugar free gluten dairy keto decaf half sparkling hard virgin mock soy almond oat"
    " mini kid jumbo double triple loaded stuffed frozen iced ice potato spicy assorted boneless cream"
    " your own with no in on of large small medium"
)
# Tell what a thing is like, and name none by themselves.
LIKE = _folded(
    "hot cold iced warm green black white red yellow brown blue sweet spicy mild plain regular big little"
    " long short thin thick light dark deep special extra house combo style side number breakfast lunch"
    " whole pink meat mean hand personal chunky general build roast san"
)
# Of the last three and the sorts, those that name a thing where nothing follows them.
NOUNS = _folded("turkey veggie chicken italian sugar potato")
EMPTY = (LIKE | IDLE | DEFINING | ITEM_SORTS) - NOUNS
# In an order these are said of many things.
SAID_OF_MANY = FILLERS | JOINTS | MEASURES | VESSELS | AMOUNTS.keys() | NUMBERS.keys()
SAID_OF_MANY |= _folded("free plain style half quarter full non low")
# Joined once, since every name of a menu is held against them.
PRAISE, OTHER_THING, NO_NAME = LIKE | IDLE, TASTES | DEFINING, EMPTY | DEFINING | IDLE | SAID_OF_MANY
