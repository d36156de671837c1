"""Words of ordering in English: numbers, amounts, corrections. Language, never a menu.

Another language is another module of this shape, chosen by the menu's `language`.
"""

from __future__ import annotations

from schemas.cart import Amount

NUMBERS = {
    word: value
    for value, words in {
        1: "one single",
        2: "two double couple pair both twice",
        3: "three triple thrice",
        4: "four quad quadruple",
        5: "five",
        6: "six",
        7: "seven",
        8: "eight",
        9: "nine",
        10: "ten",
        11: "eleven",
        12: "twelve dozen",
        13: "thirteen",
        14: "fourteen",
        15: "fifteen",
        16: "sixteen",
        17: "seventeen",
        18: "eighteen",
        19: "nineteen",
        20: "twenty",
        30: "thirty",
        40: "forty",
        50: "fifty",
        60: "sixty",
        70: "seventy",
        80: "eighty",
        90: "ninety",
        100: "hundred",
    }.items()
    for word in words.split()
}

# Recognisers write these for a number that stands right before what is counted ("to lattes").
HOMOPHONES = {"to": 2, "too": 2, "for": 4, "won": 1, "tree": 3, "ate": 8}

AMOUNTS = {
    word: amount
    for amount, words in {
        Amount.NONE: "no without hold minus skip",
        Amount.LIGHT: "light lightly little less easy lite splash touch bit drop",
        Amount.EXTRA: "extra more lot heavy double plenty loads tons additional",
    }.items()
    for word in words.split()
}

# May stand between an amount word and its option ("a lot of the whipped cream").
AMOUNT_FILLERS = frozenset("of the any on a some with".split())

# Said when something before it is taken back.
CORRECTIONS = frozenset(
    "actually instead scratch cancel change make sorry wait rather oops nevermind correction remove forget "
    "not dont nope swap".split()
)

# Never part of a name that is heard in pieces ("iced latte and a coffee" is no iced coffee).
JOINTS = frozenset("and a an the with plus also or then but no for to i in of on".split())

# Words that carry no wish of their own; what is left unexplained beside them is worth a look.
FILLERS = frozenset(
    """a an the i id i'd im i'm me my we us you your it that this these those there is are be do does don't
    can could would will may might get have has take give want like need order ordering please thanks thank
    hi hello hey morning afternoon evening good uh um er ah oh okay ok yeah yes so well just also and or with
    on in of for to at by from up then plus some any let let's lets see think maybe about all that's thats
    what how today now here go one's make made it's its really very gonna gotta wanna going too still kind
    sort favor favour pick cup glass order's put add bring grab hear heard""".split()
)
