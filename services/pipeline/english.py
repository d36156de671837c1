"""Words of ordering in English: numbers, amounts, corrections. Language, never a menu.

Another language is another module of this shape, chosen by the menu's `language`.
"""

from __future__ import annotations

import re

from schemas.cart import Amount

NUMBERS = {
    word: value
    for value, words in {
        1: "one single",
        2: "two double couple pair twice",
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
        Amount.NONE: "no without hold minus skip avoid",
        Amount.LIGHT: "light lightly little less easy lite splash touch bit drop",
        Amount.EXTRA: "extra more much lot heavy plenty loads tons additional",
    }.items()
    for word in words.split()
}

# May stand between an amount word and its option ("a lot of the whipped cream").
AMOUNT_FILLERS = frozenset("of the any on a some with".split())

# Measures that stand between a number and the option that it counts ("two pumps of vanilla").
MEASURES = frozenset("pump shot scoop slice piece packet squirt extra more spoon splash drizzle".split())

# Joins two lines of an order, or two options of one.
AND = frozenset("and plus also then".split())

# Shares a value out over several lines ("all with oat milk", "one large, one small").
SHARED = re.compile(
    r"(?<!that's )(?<!that is )(?<!be )(?<!is )\ball\b(?! (right|set|good))"
    r"|\b(both|each|every|everything|same|as well|the (first|second|other|last|rest)|one (of|with|is))\b",
    re.IGNORECASE,
)

# Parts one line into several ("two lattes, one with oat milk"), though the item is named once.
PARTED = re.compile(
    r"\b((one|two|half|another|some) (of|with|without|is)|the (first|second|other|last|rest))\b",
    re.IGNORECASE,
)

# Said when something before it is taken back or replaced.
CORRECTIONS = re.compile(
    r"\b(actually|instead|scratch|cancel|change|make (that|it|them|those)|sorry|wait|rather|oops|never ?mind"
    r"|correction|remove|forget|on second thought|i mean|not(?! (too )?much)|don'?t|nope|swap|switch"
    r"|no(?=,))\b",
    re.IGNORECASE,
)

# Never part of a name that is heard in pieces ("iced latte and a coffee" is no iced coffee).
JOINTS = frozenset("and a an the with plus also or then but no for to i in of on".split())

# Words that carry no wish of their own, written without apostrophes; what is left unexplained beside them
# is worth a look.
FILLERS = frozenset(
    """a an the i id im ill ive me my mine we us our well you your youd it its that thats this these those
    there theres here heres is are am be been do does did dont can could would will wont may might shall
    should have has had having get gets got getting take give gimme want wants need like love order
    orders ordering please thanks thank cheers hi hello hey good morning afternoon evening day uh um uhm
    umm er erm ah oh o ooh hmm mm okay ok alright yeah yep yup yes yo sure so also and or with in on of
    for to at by from up out off then than plus some any let lets see think maybe perhaps about around
    all both each every one ones everything else thatll what whats how now today just really very quite
    gonna gotta wanna going too still kind sort kinda favor favour pick cup cups glass bottle slice
    piece bowl bag plate side serving regular usual put add adding bring grab make made makes making
    doing fix pour brew brewed serve prepare hear come comes as if but because while when other another
    more same again next first second last once only know say said mean guess actually sorry wait no not
    nope instead change scratch cancel correction remove forget never mind nevermind rather oops swap
    switch thought guys man sir maam madam miss buddy friend wife husband kid kids son daughter myself
    him her them they theyre hes shes go ahead ready finally lastly firstly together total number times
    time hungry thirsty bit little were work possible great perfect fine cool nice lovely awesome
    awfully kindly appreciate quick quickly""".split()
)
