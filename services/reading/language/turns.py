"""Words by which one thing that is said speaks of another, in English: taking back, swapping, sharing out,
telling apart, pointing, saying again. Folded, as all words that are looked for one by one.
"""

from __future__ import annotations

import re

from services.reading.language.english import phrases

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

# What `revisions.py` settles, in folded words. What follows a replacing phrase takes the place of what was
# said before it; weak ones may as well add something ("actually, make it decaf too").
REPLACING = phrases(
    "no,nope,nah,sorry,wait,actually,i mean,i meant,make that,make it,make them,make those,rather,or rather"
    ",oop,oops,correction,hang on,hold on,scratch that,change that to,change it to,on second thought"
    ",make that a"
    ",make it a,make it an,make that an,it should be,that should be"
)
WEAK_CUES = frozenset(("actually", "wait", "sorry"))

# After a weak one these begin one thing more ("sorry, can I also get a muffin").
ADDING = frozenset("can could may i ill id let also and add plus we get give do throw".split())
REMOVING = phrases(
    "scratch,cancel,remove,forget,forget about,drop,lose,never mind,nevermind,never mind about"
    ",scrap,ditch,nix"
)
SWAPPING = phrases(
    "bump,bump up,upgrade,upsize,swap,switch,change,replace,swap out,sub out,sub the,substitute"
)
MAKING = phrases("make the")
SWAPS_FOR = phrases("for,to,with,out for")
INSTEAD_OF = phrases("instead of,in place of,rather than")

# "No muffin", where a muffin was ordered before, takes it back.
REFUSING = frozenset("no hold without minus lose".split())

# Taking back that no rule here reads: of what was said before, and of anything.
UNSURE = phrases("instead,change,swap,switch")
NEGATING = phrases("not,dont,isnt,wont,doesnt,wouldnt,i didnt mean,didnt mean,dont mean")

# Bring back what was taken back ("actually, keep the quiche").
KEEPING = phrases("keep,put back,leave on,leave them on,leave it on")

# Verbs that take back or bring back by a word that comes later ("take the mustard off").
PARTICLES = {
    "take": ("off", "out"),
    "leave": ("off", "out"),
    "keep": ("off",),
    "give": ("miss",),
    "put": ("back",),
}

# Refuse what follows ("don't put any foam on it"); without them it is only not that one.
WISHING = frozenset("put add want need get give".split())
BETWEEN_CUES = frozenset("oh uh um er erm ah hmm well please and so".split())

# What `sharing.py` reads: words that share something out, little words between them and what is shared, and
# the part of a split that takes what is left.
EACH = frozenset("all both each every everything".split())
OF_EACH = frozenset(
    "of them those these with in on for made as are should be to get one please a an the is no just".split()
)
THE_OTHER = frozenset("other rest".split())

# One of several, by whose it is.
THEIRS = frozenset("mine his her their your".split())

# One of several, of which nothing more is wished for.
AS_IT_IS = phrases(
    "as it come,as they come,as is,as it is,as they are,just like that,like that"
    ",the way it is,the way they are,how it come,just plain,plain,normal,black,just black"
)
AGAIN = phrases(
    "another 1,another of those,another of them,1 more of those,1 more,the same,same again,same"
    ",what im having,what i am having,what i have,what i got,what he having,what he is having,what he has"
    ",what she having,what she is having,what she has,what theyre having,what they are having,what they have"
    ",whatever he having,whatever she having,whatever im having,whatever theyre having"
    ",that too,that as well,more like it,more like that,another just like it"
    ",1 just like it,just like it,just like that"
)

# What was said of two things is meant the other way round, and is said again.
OTHER_WAY = phrases("other way round,other way around,that around,those around")
# "Three is plenty": so many, and no more.
ENOUGH = frozenset("enough plenty".split())

# What may be the same of two lines.
ALIKE = frozenset("size side drink topping way sauce bread milk".split())

# Find fault with what was ordered, and order none of it again.
TOO_MUCH = phrases("that too much,that too many,that too big,that too small")

# Some of several that were ordered ("one of them", "just one", "in the one").
ONE_OF = phrases(
    "1 of them,1 of em,1 of those,2 of them,2 of those,3 of them,3 of those,4 of them,4 of those,1 of the"
    ",2 of the,3 of the,just 1,just the 1,only 1,some of those,some of them"
)

# Stand for what was named: "the small one", "the mustard ones" (folded).
ONES = frozenset(("1", "one"))
# Begin to tell something of what was named before.
TELLING = frozenset("make put add give throw stick chuck".split())

# "We don't need anything" takes everything back.
NOTHING = frozenset("anything nothing".split())

# Points at what was asked about, or ordered before ("I'd like some of those").
POINTING = frozenset("that those it them some these".split())
HALF_OF = phrases("half of them,half of those,half of em,half with,half without,half on,half in")
ORDINALS = {"first": 0, "second": 1, "third": 2, "fourth": 3, "last": -1}

# Nothing at all is wished for, after all.
ALL_BACK = phrases(
    "start over,start again,do that again,begin again,leave it all,leave all of it,nothing for me"
    ",nothing from me,nothing for us,want any of it,dont want any"
)

# After a word of removing: everything that was ordered.
ALL_OF_IT = phrases("all of it,all of that,everything,it,all that,whole thing,whole order,order,my order,all")
ADDS = frozenset("another more other second third extra".split())
