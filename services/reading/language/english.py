"""Words of ordering in English: numbers, amounts, little words. Language, never a menu.

Another language is another set of this module, `turns.py` and `talk.py`, chosen by the menu's `language`.
"""

from __future__ import annotations

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

# "I want to", "an order for" count nothing.
WANTING = frozenset(
    "want like love going need have got wanna liked order ordering look looking ask asking here down".split()
)

# Folded, as all words here that are looked for one by one.
AMOUNTS = {
    word: amount
    for amount, words in {
        Amount.NONE: "no without hold minus skip avoid san zero neither never",
        Amount.LIGHT: "light lightly little less easy lite splash touch bit drop hardly barely tiny dash"
        " hint pinch smidge smidgen dab whisper tad smear",
        Amount.EXTRA: "extra more much lot heavy plenty load ton heap oodle mountain generous additional",
    }.items()
    for word in words.split()
}

# Several words that say the same as one.
SAME_AS = {
    ("not", "too", "much"): "light",
    ("not", "so", "much"): "light",
    ("not", "much"): "light",
    ("not", "a", "lot"): "light",
    ("not", "too", "many"): "light",
    ("skimp", "on"): "light",
    ("dont", "skimp", "on"): "extra",
    ("dont", "be", "stingy", "with"): "extra",
    ("load", "it", "up", "with"): "extra",
    ("load", "up", "on"): "extra",
    ("pile", "on"): "extra",
    ("spare", "me"): "without",
    ("steer", "clear", "of"): "without",
    ("stay", "away", "from"): "without",
    ("nothing", "of"): "without",
    ("86", "the"): "without",
    ("leave", "off"): "without",
    ("leave", "out"): "without",
    ("keep", "off"): "without",
    ("none", "of", "them", "with"): "without",
    ("none", "of", "those", "with"): "without",
    ("nor",): "no",
    ("not", "with"): "without",
    ("everything", "but"): "without",
    ("everything", "except"): "without",
    ("leave", "it", "off"): "off",
    ("leave", "them", "off"): "off",
    ("leave", "it", "out"): "off",
    ("leave", "them", "out"): "off",
    ("the", "lot"): "all",
    ("the", "whole", "lot"): "all",
    ("the", "pair", "of", "them"): "both",
}
# "No onions and mushrooms" may wish for mushrooms; after these all of a list is refused.
REFUSING_ALL = frozenset("without hold minus skip avoid san neither".split())

# May stand between an amount word and its option ("a lot of the whipped cream").
AMOUNT_FILLERS = frozenset("of the any on a some with helping regular normal".split())

# Measures that stand between a number and the option that it counts ("two pumps of vanilla").
MEASURES = frozenset(
    "pump shot scoop slice piece packet portion squirt extra more spoon splash drizzle".split()
)

# What follows belongs to an item that was named before.
BELONGING = frozenset("with without in on add adding".split())
# After a number they count what is more ("two extra shots"), and make nothing heavier.
FURTHER = frozenset("extra more additional".split())

# Joins two lines of an order, or two options of one.
AND = frozenset("and plus also then".split())


# Beside an option they refuse all others: "with just ketchup", "ketchup only".
ONLY = frozenset("just only".split())
# "No sugar or anything": what follows "or" is no choice.
NO_CHOICE = frozenset("anything something so whatever else rather".split())
# A number after these names something, and counts nothing ("number twelve", "table five").
NAMING = frozenset("number table lane window ticket bay till until".split())


def phrases(text: str) -> tuple[tuple[str, ...], ...]:
    """Phrases with commas between, each as its words."""
    return tuple(tuple(phrase.split()) for phrase in text.split(","))


# Belongs to somebody's talk, not to the order, where nothing of the kind was ordered.
OTHERS = frozenset("that this his her their your our my".split())
# What a number before them counts is no wish ("we're five people").
UNWISHED = frozenset("people person minute hour min cent dollar buck night week month year ounce".split())
# Before "the" these wish for something ("could I have the wings").
HAVING = frozenset("have having get want take like do try order".split())
# Hold what is wished for ("a slice of pizza").
VESSELS = frozenset(
    "slice piece portion pint bottle glass cup bowl order side plate bag can scoop pair".split()
)
# Everyday names for what a menu calls by its full one.
NICKNAMES = {
    "oj": "orange juice", "shroom": "mushroom", "mater": "tomato", "a la mode": "ice cream",
    "joe": "coffee", "java": "coffee", "pop": "soda", "za": "pizza", "pie": "pizza", "nana": "banana",
    "whip": "whipped cream", "pep": "pepperoni", "guac": "guacamole", "parm": "parmesan",
    "mozz": "mozzarella", "slaw": "coleslaw", "veggy": "vegetable", "doctor": "dr",
    "choc": "chocolate", "nug": "nugget", "bbq": "barbecue", "skinny": "skim",
}  # fmt: skip
# Had black when nothing goes in.
COFFEES = frozenset("coffee decaf americano espresso brew drip joe java".split())
ARTICLES = frozenset("a an the that those my it to with just be of them one's".split())


# Who orders, or the order itself: "a big family", "big order".
GROUPS = frozenset(
    "order group family crowd fan party meeting day night crew team gang office table fella lad lass".split()
)

# Close names of many things, and say of what sort they are.
SORTS = frozenset("cheese sauce dressing syrup milk bread bun".split())

# Options that only say that nothing is wished for.
PLAIN = frozenset("plain regular".split())

# Sizes that are numbers of pieces: "ten wings" is one ten piece.
PIECES = frozenset("piece pack count pc pcs ct".split())

# Never part of a name that is heard in pieces ("iced latte and a coffee" is no iced coffee).
JOINTS = frozenset("and a an the with plus also or then but no not for to i in of on".split())

# Said while thinking, anywhere: "no, um, onions" is "no onions". "Like" is, unless somebody likes something.
HESITATIONS = phrases(
    "uh,um,uhm,umm,er,erm,ah,eh,mm,hmm,like,you know,i guess,i think,i suppose"
    ",let me see,lets see,let me think,before i forget"
    ",dont forget,do not forget,almost forgot,1 more thing,isnt it,arent they,doesnt it,ring me up,ring up"
    ",hook me up with,set me up with,at all,tell a lie,bear with me,same as ever,same as always,same as usual"
)
PERSONS = frozenset("i we you u ya he she they my someone somebody".split())
LIKING = frozenset("i id we wed would you youd they theyd he hed she shed really also do feel and".split())

# Words that carry no wish of their own, written without apostrophes; what is left unexplained beside them
# is worth a look.
FILLERS = frozenset(
    """a an the i id im ill ive me my mine we us our well you your youd it its that thats this these those
    there theres here heres is are am be been do does did dont can could would will wont may might shall
    should have has had having get gets got getting take give gimme want wants need like love order orders
    ordering please thanks thank cheers hi hello hey good morning afternoon evening day uh um uhm umm er erm
    ah oh o ooh hmm mm okay ok alright yeah yep yup yes yo sure so also and or with in on of for to at by
    from up out off then than plus some any let lets see think maybe perhaps about around all both each
    every one ones everything else thatll what whats how now today just really very quite gonna gotta wanna
    going too still kind sort kinda favor favour pick cup cups glass bottle slice piece bowl bag plate side
    serving regular usual put add adding bring grab make made makes making doing fix pour brew brewed serve
    prepare hear come comes as if but because while when other another more same again next first second
    third fourth last once only know say said mean guess actually sorry wait no not nope instead change
    scratch cancel correction remove forget never mind nevermind rather oops swap switch thought guys man
    sir maam madam buddy friend wife husband kid kids son daughter myself him her them they theyre hes shes
    go ahead ready finally lastly firstly together total number times mom mum mother dad father brother
    sister daughter son boy girl baby boss colleague coworker roommate family folks partner girlfriend
    boyfriend sweetie honey dear away top side go later today tonight here hurry rush waiting wait wanted
    wondering trying try looking look feeling feel tell told ask asked call delivery deliver pickup takeout
    takeaway carryout team crew table road sharing dipping topped hon since down start starting throw finish
    grandson granddaughter grandma grandpa nephew niece uncle aunt new added enough many em exact exactly
    first usual normal normally standard way thing things stuff lot lots bunch anything something nothing
    nobody somebody everyone anyone done finished all set best favorite favourite special please right
    sounds hang he she his hers pay paying paid whole car birthday decide deciding deal check lemme huh wow
    ha haha inside altogether after meeting picking office group if theres mind time hungry thirsty bit
    people guy twin twins adult adults help
    little were work possible great perfect fine cool nice lovely awesome awfully kindly appreciate quick
    quickly size sized cooked isnt wasnt arent werent cant couldnt shouldnt itll itd whatll theyll though
    anyway anyways anyhow ugh gosh goodness sweetheart darling darlin oldest youngest calling starving hiya
    mate collection better ta night nights week weeks basically crikey blimey jeez lord missus fancy
    trouble rest eat food yet chance wee sec question ever called between share wed hed shed whos yall
    thatd cheer whenever youre grand brilliant fella lad lass party church choir school""".split()
)
