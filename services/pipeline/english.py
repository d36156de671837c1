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

# "I want to", "an order for" count nothing.
WANTING = frozenset(
    "want like love going need have got wanna liked order ordering look looking ask asking here".split()
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
}
# "No onions and mushrooms" may wish for mushrooms; after these all of a list is refused.
REFUSING_ALL = frozenset("without hold minus skip avoid san neither".split())

# May stand between an amount word and its option ("a lot of the whipped cream").
AMOUNT_FILLERS = frozenset("of the any on a some with helping".split())

# Measures that stand between a number and the option that it counts ("two pumps of vanilla").
MEASURES = frozenset(
    "pump shot scoop slice piece packet portion squirt extra more spoon splash drizzle".split()
)

# Joins two lines of an order, or two options of one.
AND = frozenset("and plus also then".split())

# Shares a value out over several lines ("all with oat milk").
SHARED = re.compile(
    r"(?<!that's )(?<!thats )(?<!that is )(?<!be )(?<!is )\b(all\b(?! (right|set|good))|everything\b)"
    r"|\b(both|each|every)\b",
    re.IGNORECASE,
)

# Speaks of a line by another; no rule reads it.
LIKEWISE = re.compile(
    r"\b(the (first|second|third|fourth|last)|(first|last) one|second|third|fourth"
    r"|(on|in) (anything|any|neither|either|none)|none of (them|those|it)"
    r"|with (that|it|those) (too|as well|also)|without (it|them|that|those|any)|same way)\b"
    r"|\bwith (just |only )?(one|two|three)\s*($|[.,;!?])|\bwithout\s*($|[.,;!?])",
    re.IGNORECASE,
)

# Tells apart whose is what ("two pizzas, cheese for her and pepperoni for him").
FOR_WHOM = re.compile(r"\bfor (her|him|me|them|my \w+)\b.*\bfor (her|him|me|them|my \w+)\b", re.IGNORECASE)

# Parts one line into several ("two lattes, one with oat milk"), though the item is named once.
PARTED = re.compile(
    r"\b((one|two|another|some) (of|with|without|is)|half(?!( a)? (dozen|and))|(one|other|left|right) side"
    r"|the (other|rest)"
    r"|mine|hers|his|theirs|yours)\b",
    re.IGNORECASE,
)

# Asks about something of the menu, which is no order yet.
ASKED = re.compile(
    r"\b(do(es)? (you|it|that|they)( guys| all)?( still)? (have|do|sell|serve|make|carry|come|got|offer)"
    r"|(is|are) there|(have you )?got any|have you got|how much (is|are|for)|how big|what kind)\b"
    r"|(^|[.?!] |\b(hi|hey|hello|um|uh|so|okay|then) )(is|are) (the|your)\b",
    re.IGNORECASE,
)


# Tells of an order that was thought of, or made another day; or speaks of all that can be had with an item.
WEIGHED = re.compile(
    r"\b(last time|yesterday|no way|(said|says|told me) (to )?(get|order|try|have)|used to"
    r"|(was|were) (going to|gonna)|thinking (about|of)|can(no|')?t decide"
    r"|(i|we)['’]?ve got an?(?! (drink|car|coupon|question|long|lot|dog|kid|meeting))|either|nothing (on|in)|with nothing|the works)\b",
    re.IGNORECASE,
)
# Beside an option they refuse all others: "with just ketchup", "ketchup only".
ONLY = frozenset("just only".split())
# "No sugar or anything": what follows "or" is no choice.
NO_CHOICE = frozenset("anything something so whatever else rather".split())
# A number after these names something, and counts nothing ("number twelve", "table five").
NAMING = frozenset("number table lane window ticket bay till until".split())


def _phrases(text: str) -> tuple[tuple[str, ...], ...]:
    return tuple(tuple(phrase.split()) for phrase in text.split(","))


# What `revisions.py` settles, in folded words. What follows a replacing phrase takes the place of what was
# said before it; weak ones may as well add something ("actually, make it decaf too").
REPLACING = _phrases(
    "no,nope,sorry,wait,actually,i mean,i meant,make that,make it,make them,make those,rather,or rather,oop,oops"
    ",correction,hang on,hold on,scratch that,change that to,change it to,on second thought,make that a"
    ",make it a,make it an,make that an"
)
WEAK_CUES = frozenset(("actually", "wait", "sorry"))
# After a weak one these begin one thing more ("sorry, can I also get a muffin").
ADDING = frozenset("can could may i ill id let also and add plus we get give do throw".split())
REMOVING = _phrases(
    "scratch,cancel,remove,forget,forget about,drop,lose,never mind,nevermind,never mind about"
    ",scrap,ditch,nix"
)
SWAPPING = _phrases(
    "bump,bump up,upgrade,upsize,swap,switch,change,replace,swap out,sub out,sub the,substitute"
)
MAKING = _phrases("make the")
SWAPS_FOR = _phrases("for,to,with,out for")
INSTEAD_OF = _phrases("instead of,in place of,rather than")
# "No muffin", where a muffin was ordered before, takes it back.
REFUSING = frozenset("no hold without minus lose".split())
# Taking back that no rule here reads: of what was said before, and of anything.
UNSURE = _phrases("instead,change,swap,switch")
NEGATING = _phrases("not,dont,isnt,wont,doesnt,wouldnt,i didnt mean,didnt mean,dont mean")
# Bring back what was taken back ("actually, keep the quiche").
KEEPING = _phrases("keep,put back,leave on,leave them on,leave it on")
# Verbs that take back or bring back by a word that comes later ("take the mustard off").
PARTICLES = {
    "take": ("off", "out"),
    "leave": ("off", "out"),
    "keep": ("off",),
    "give": ("miss",),
    "put": ("back",),
}
# Belongs to somebody's talk, not to the order, where nothing of the kind was ordered.
OTHERS = frozenset("that this his her their your our my".split())
# Refuse what follows ("don't put any foam on it"); without them it is only not that one.
WISHING = frozenset("put add want need get give".split())
# What a number before them counts is no wish ("we're five people").
UNWISHED = frozenset("people person minute hour min cent dollar buck".split())
# Before "the" these wish for something ("could I have the wings").
HAVING = frozenset("have having get want take like do try order".split())
# Hold what is wished for ("a slice of pizza").
VESSELS = frozenset(
    "slice piece portion pint bottle glass cup bowl order side plate bag can scoop pair".split()
)
# A sentence that tells of something else than this order.
TALE = re.compile(
    r"\b(last (time|night|week)|yesterday|used to|(was|were) (going to|gonna)"
    r"|(we|i|he|she|they) had|(i|we)['’]?ve got [^.!?:]{1,30}\b(in the|at home)|already (have|got)|spilled"
    r"|every (night|day|morning|week)|(he|she|cousin) makes)\b",
    re.IGNORECASE,
)
# Everyday names for what a menu calls by its full one.
NICKNAMES = {
    "oj": "orange juice", "shroom": "mushroom", "mater": "tomato", "a la mode": "ice cream",
    "joe": "coffee", "java": "coffee", "pop": "soda", "za": "pizza", "pie": "pizza", "nana": "banana",
}  # fmt: skip
# Said before a question begins.
BEFORE_ASKING = frozenset("oh hi hey hello okay ok so and well um uh yeah good quick question".split())
# Begin a wish that is put as a question ("could you do one of those").
REQUESTING = _phrases(
    "do me,do us,can i,could i,may i,can we,could we,can you,could you,will you,would you,might i"
)
BETWEEN_CUES = frozenset("oh uh um er erm ah hmm well please and so".split())
ARTICLES = frozenset("a an the that those my it to with just be of them one's".split())

# What `sharing.py` reads: words that share something out, little words between them and what is shared, and
# the part of a split that takes what is left.
EACH = frozenset("all both each every everything".split())
OF_EACH = frozenset(
    "of them those these with in on for made as are should be to get one please a an the is no".split()
)
THE_OTHER = frozenset("other rest".split())
# One of several, by whose it is.
THEIRS = frozenset("mine his her their your".split())
WHOSE = frozenset("mine his her your their".split())
# One of several, of which nothing more is wished for.
AS_IT_IS = _phrases(
    "as it come,as they come,as is,as it is,as they are,just like that,like that,the way it is,the way they are"
    ",how it come,just plain,plain,normal"
)
AGAIN = _phrases(
    "another 1,another of those,another of them,1 more of those,1 more,the same,same again,same"
    ",that too,that as well,more like it,more like that,another just like it,1 just like it,just like it,just like that"
)

# Who orders, or the order itself: "a big family", "big order".
GROUPS = frozenset("order group family crowd fan party meeting day night".split())
# "Three is plenty": so many, and no more.
ENOUGH = frozenset("enough plenty".split())
# What may be the same of two lines.
ALIKE = frozenset("size side drink topping way sauce bread milk".split())
# Find fault with what was ordered, and order none of it again.
TOO_MUCH = _phrases("that too much,that too many,that too big,that too small")

# Some of several that were ordered ("one of them", "just one", "in the one").
ONE_OF = _phrases(
    "1 of them,1 of em,1 of those,2 of them,2 of those,3 of them,3 of those,4 of them,4 of those,1 of the"
    ",2 of the,3 of the,just 1,just the 1,only 1,some of those,some of them"
)
# Begin to tell something of what was named before.
TELLING = frozenset("make put add give throw".split())
# "We don't need anything" takes everything back.
NOTHING = frozenset("anything nothing".split())
# Options that only say that nothing is wished for.
PLAIN = frozenset("plain regular".split())
# Points at what was asked about, or ordered before ("I'd like some of those").
POINTING = frozenset("that those it them some these".split())
HALF_OF = _phrases("half of them,half of those,half of em,half with,half without,half on,half in")
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}
# Nothing at all is wished for, after all.
ALL_BACK = _phrases("leave it all,nothing for me,nothing from me,nothing for us,want any of it,dont want any")
# After a word of removing: everything that was ordered.
ALL_OF_IT = _phrases(
    "all of it,all of that,everything,it,all that,whole thing,whole order,order,my order,all"
)
ADDS = frozenset("another more other second third extra".split())

# Said to an answer: what follows is ordered ("do you have chai? great, a large one").
ASSENT = frozenset("great good perfect awesome okay ok cool sweet lovely yes yeah yep right nice".split())
# Begin a question about the menu, where the sentence ends as one.
ASKING = frozenset("are is do doe how what which have has did was were".split())
# Sizes that are numbers of pieces: "ten wings" is one ten piece.
PIECES = frozenset("piece pack count pc pcs ct".split())

# Never part of a name that is heard in pieces ("iced latte and a coffee" is no iced coffee).
JOINTS = frozenset("and a an the with plus also or then but no not for to i in of on".split())

# Said while thinking, anywhere: "no, um, onions" is "no onions". "Like" is, unless somebody likes something.
HESITATIONS = _phrases(
    "uh,um,uhm,umm,er,erm,ah,eh,mm,hmm,like,you know,i guess,i think,i suppose"
    ",let me see,lets see,let me think,before i forget,dont forget,do not forget,almost forgot,1 more thing,isnt it,arent they,doesnt it,ring me up,ring up"
    ",hook me up with,set me up with"
)
PERSONS = frozenset("i we you u ya he she they my someone somebody".split())
LIKING = frozenset("i id we wed would you youd they theyd he hed she shed really also do feel and".split())

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
    more same again next first second third fourth last once only know say said mean guess actually sorry wait
    no not nope instead change scratch cancel correction remove forget never mind nevermind rather oops swap
    switch thought guys man sir maam madam buddy friend wife husband kid kids son daughter myself
    him her them they theyre hes shes go ahead ready finally lastly firstly together total number times
    mom mum mother dad father brother sister daughter son boy girl baby boss colleague coworker roommate
    family folks partner girlfriend boyfriend sweetie honey dear away top side go later today tonight here
    hurry rush waiting wait wanted wondering trying try looking look feeling feel tell told ask asked call
    delivery deliver pickup takeout takeaway carryout team crew table road sharing dipping topped hon since
    down start starting throw finish grandson granddaughter grandma grandpa nephew niece uncle aunt
    new added enough many em exact exactly first usual normal normally standard way thing things stuff
    lot lots bunch anything something
    nothing nobody somebody everyone anyone done finished all set best favorite favourite special please
    right sounds hang he she his hers pay paying paid whole car birthday decide deciding deal check
    lemme huh wow ha haha inside altogether after meeting picking office group if theres mind
    time hungry thirsty bit little were work possible great perfect fine cool nice lovely awesome
    awfully kindly appreciate quick quickly size sized cooked isnt wasnt arent werent cant couldnt shouldnt
    itll itd whatll theyll though anyway anyways anyhow ugh gosh goodness sweetheart darling
    darlin oldest youngest calling starving
    hiya mate collection""".split()
)
