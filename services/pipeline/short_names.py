"""Short forms that customers make of a menu's names where a till's export gives no aliases: "turkey" for an
oven roasted turkey sub, "Swiss" for Swiss cheese, "fries" for french fries, "a tomato basil" for that soup.

A form stands where only one name of its scope (all items, or the options of one group) can be meant, and
where what is left out says nothing of its own. "Milk" is no chocolate milk, "a burger" no veggie burger and
"a banana" no banana bread, even where the menu has no other: these stay a part of a name, and a doubt.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import NamedTuple

from services.pipeline.english import AMOUNTS, FILLERS, JOINTS, MEASURES, NUMBERS, VESSELS
from services.pipeline.words import fold

Words = tuple[str, ...]


def _folded(words: str) -> frozenset[str]:
    return frozenset(map(fold, words.split()))


# Say what sort of thing a name is; what stands before them is used alone ("a large Hawaiian", "with ranch").
ITEM_CARRIERS = _folded(
    "sub sandwich hoagie hero burger pizza wrap panini melt salad soup chowder"
    " taco burrito quesadilla omelette omelet cheesesteak"
)
OPTION_CARRIERS = _folded(
    "cheese bread sauce dressing crust bun syrup milk seasoning topping spread drizzle dip powder vinaigrette"
    " heart wedge"
)
# In an order these are said of many things.
_NEVER = FILLERS | JOINTS | MEASURES | VESSELS | AMOUNTS.keys() | NUMBERS.keys() | _folded("free plain style half quarter full non")
_GRAINS = _folded("white wheat rye sourdough")
# Of the words below, those that name a thing where nothing follows them.
_NOUNS = _folded("turkey veggie chicken italian sugar potato cream")
_PACKS = _folded("carton pack packet tub jar pouch basket tray bucket")
_MIXED = _folded("sauce dip spread vinaigrette powder drizzle")
# Things that a customer names without what is before them on the board, where there is only one of the sort.
HEADS = _folded(
    "fries tots nuggets tenders wings strips rings knots sticks bites curds skins poppers dumplings chips"
    " brownie cookie muffin scone pie cake cheesecake tart turnover cannoli tiramisu sundae cone shake smoothie"
    " lemonade limeade kombucha chili coleslaw slaw zucchini pickle spear ribs brisket pastrami lasagna"
    " cheesesteak calzone stromboli club reuben edamame pretzel nachos guacamole hummus pita"
    " mushroom onion olive tomato spinach cucumber cabbage carrot corn jalapeno pineapple artichoke basil"
    " oregano cilantro parsley garlic lettuce avocado pepper shot drizzle"
    " sausage chicken beef ham bacon pepperoni salami meatball anchovy shrimp egg cherry sprinkles fudge"
    " caramel whip foam honey vinegar ketchup mustard mayo relish croutons crackers parmesan mozzarella"
    " provolone cheddar rye wheat sourdough ciabatta baguette"
)
# May be left out anywhere: they praise, or say how a thing was made, and there is no other without them.
IDLE = _folded(
    "fresh freshly squeezed house homemade home made classic original signature traditional crispy golden fried"
    " french tater bottled purified premium famous old fashioned cut oven roasted grilled sliced chopped grated"
    " shredded ground baby vine ripe wild organic real creamy steamed baked kosher maraschino sauteed soft the add"
    " forest virginia oyster rainbow wine marble garden italian chicken"
)
# Say that a thing is another than the plain one.
DEFINING = _folded(
    "vegan veggie vegetarian vegetable plant based beyond impossible turkey diet zero light lite low fat nonfat"
    " non skim sugar free gluten dairy keto decaf half sparkling hard virgin mock soy almond oat mini kid jumbo"
    " double triple loaded stuffed frozen iced ice potato spicy assorted boneless cream your own with no in on of"
    " large small medium"
)
# Had plain: with a word before them they are another thing, unless that word is an idle one.
ITEM_STAPLES = _folded("pepper shot drizzle fries wings chicken beef ham bacon sausage shrimp egg onion tomato garlic caramel")
# Tell what a thing is like, and name none by themselves.
LIKE = _folded(
    "hot cold iced warm green black white red yellow brown blue sweet spicy mild plain regular big little long"
    " short thin thick light dark deep special extra house combo style side number breakfast lunch whole pink meat"
    " mean hand personal chunky general build roast san"
)
# Things in their own right: what is made of them or with them may not be called by them alone.
_THINGS = HEADS | _folded(
    "cream milk egg bean potato cheese butter water coffee tea rice pizza burger bread chocolate vanilla lemon"
    " orange apple banana strawberry peanut sugar pepper fish steak pork turkey tuna salmon"
)


class Name(NamedTuple):
    """One of a menu's names: its words, folded, and whose it is. Of one that stands `alone` a single word may
    be enough: of a brand its first ("Doritos Nacho Cheese"), of one of several choices what tells it from the
    others ("dark roast"). `sort` is the last word of its group's name, folded ("bread")."""

    words: Words
    kind: str
    group: str
    ref: str
    alone: bool = False
    sort: str = ""


class Short(NamedTuple):
    """A short form. A `bare` one leaves out what sort of thing it is ("a turkey")."""

    words: Words
    kind: str
    group: str
    ref: str
    bare: bool


def short_names(
    names: Sequence[Name], taken: Mapping[Words, set[str]], beside: Mapping[str, set[str]]
) -> list[Short]:
    """The short forms of `names` that are clear.

    `taken` holds the menu's names with what they are of (`item`, `size` or a group of options): an option may
    be called as an item is, or one of a group that no item has `beside` its own.
    """
    held: dict[str, set[str]] = defaultdict(set)
    for name in names:
        for word in name.words:
            held[word].add(f"{name.kind} {name.group} {name.ref}")
    found: dict[tuple[str, str, Words], dict[str, bool]] = defaultdict(dict)
    for name in names:
        forms = list(_forms(name, held))
        if name.sort in OPTION_CARRIERS and name.words[-1] != name.sort:
            forms += [((*words, name.sort), bare) for words, bare in [*forms, (name.words, False)]]
        for words, bare in forms:
            # "Four baklavas" are no four piece baklava.
            counted = any(word.isdigit() for word in words)
            counted = counted or (words[0] in MEASURES | VESSELS and name.kind == "item")
            of_others = taken.get(words, frozenset())
            if name.kind == "option":
                of_others = of_others & {"size", name.group, *beside.get(name.group, ())}
            if not counted and not of_others:
                of = found[name.kind, name.group, words]
                of[name.ref] = bare and of.get(name.ref, True)
    scopes: dict[tuple[str, str], list[Name]] = defaultdict(list)
    for name in names:
        scopes[name.kind, name.group].append(name)
    return [
        Short(words, kind, group, ref, bare)
        for (kind, group, words), of in found.items()
        for ref, bare in of.items()
        if len(of) == 1 and not any(_has(n, words, bare) for n in scopes[kind, group] if n.ref != ref)
    ]


def _forms(name: Name, held: dict[str, set[str]]) -> Iterator[tuple[Words, bool]]:
    """Every shorter way to say a name, and whether it is bare."""
    words, item = name.words, name.kind == "item"
    if item and name.alone and words[1:] and _own(words[0], held) and words[0] not in _THINGS:
        yield words[:1], True  # "Doritos"; what follows is their flavour
        return
    if len(words) > 1 and words[-1] in VESSELS | MEASURES | _PACKS:
        words = words[:-1]
        if _tells(words):
            yield words, False  # a "milk carton", a "lemon slice"
    if len(words) > 1 and words[-1] in (ITEM_CARRIERS if item else OPTION_CARRIERS):
        *rest, carrier = words
        bare = [tuple(rest), *(part for part in _ends(rest) if IDLE.union(LIKE).issuperset(rest[: -len(part)]))]
        if item and len(rest) > 1 and _own(rest[0], held):
            bare.append((rest[0],))  # "meatball" for a meatball marinara sub
        mixed = not item and carrier in _MIXED
        yield from ((p, True) for p in bare if _tells(p) and not (mixed and p[-1] in _THINGS and not p[1:]))
        for part in [*_ends(rest), (rest[0],)]:
            # A "chicken pizza" may be any pizza with chicken.
            if _tells(part) and (part[1:] or not any(ref.startswith("option") for ref in held[part[0]])):
                yield (*part, carrier), False
    if item and words[-1] == "latte" and len(words) == 2 and _own(words[0], held):
        if words[0] not in _THINGS:
            yield words[:1], True  # "a chai"
    if name.alone and not item and words[1:]:
        first, last = words[0], words[-1]
        kinds = {ref for ref in held[last] if ref.startswith(f"option {name.group} ")}
        if len(held[first]) == 1 and len(first) > 2 and first not in _NEVER and len(kinds) > 1:
            yield (first,), True  # "dark", where there is a light roast and a dark one
        if len(held[last]) == 1 and last in _GRAINS:
            yield (last,), True
    if item and words[2:] and not JOINTS.intersection(words) and words[-1] not in ITEM_CARRIERS | LIKE:
        if words[0] not in LIKE | IDLE | DEFINING:
            yield (words[0], words[-1]), False  # an "oatmeal cookie", without the raisins
    if len(words) > 3 and not JOINTS.intersection(words):
        yield (words[0], *words[2:]), False  # a "jalapeño sausage link", without the cheddar
    for part in _ends(words):
        before = words[: -len(part)]
        if IDLE.issuperset(before):
            fits = True
        elif item:
            fits = len(part) > 1 or part[0] in HEADS - ITEM_STAPLES
        else:
            fits = part[0] in HEADS and LIKE.union(IDLE).issuperset(before)
        if fits and _tells(part) and not DEFINING.intersection(before):
            yield part, False


def _ends(words: Sequence[str]) -> list[Words]:
    """What is left of words without the first, the first two ..."""
    cuts = (i for i in range(1, len(words)) if words[i] not in JOINTS and words[i - 1] not in JOINTS)
    return [tuple(words[i:]) for i in cuts]


def _tells(part: Words) -> bool:
    """Whether words tell which thing is meant, and not only what it is like."""
    empty = (LIKE | IDLE | DEFINING | ITEM_CARRIERS) - _NOUNS
    about = all(w in empty or len(w) < 3 or w.isdigit() for w in part)
    return not about and part[-1] not in JOINTS and part[0] not in JOINTS


def _own(word: str, held: dict[str, set[str]]) -> bool:
    return len(held[word]) == 1 and len(word) > 2 and word not in LIKE | IDLE | DEFINING | ITEM_CARRIERS


def _has(name: Name, words: Words, bare: bool) -> bool:
    """Whether another name may be meant by the words: one that ends in them, and, where they leave out what
    sort of thing it is, one that holds them anywhere."""
    n = len(words)
    ends = [i for i in range(n, len(name.words) + 1) if name.words[i - n : i] == words]
    # "Fries" are no sweet potato fries, where there are french ones; nor is vanilla a sugar-free one.
    ends = [i for i in ends if not DEFINING.intersection(name.words[: i - n])]
    return any(bare or i == len(name.words) for i in ends)
