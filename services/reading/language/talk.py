"""Words of talk around an order, in English: asking about the menu, telling of another day, thinking aloud.
What they hold is no order yet, or none.
"""

from __future__ import annotations

import re

from services.reading.language.english import phrases

# Asks about something of the menu, which is no order yet.
ASKED = re.compile(
    r"\b(do(es)? (you|it|that|they)( guys| all)?( still)? (have|do|sell|serve|make|carry|come|got|offer)"
    r"|does (the|your) [a-z ]{1,30}(come|have)|y['’]?all got"
    r"|(is|are) there(?! any chance)|(have you )?got any(?! left)|have you got|how much (is|are|for)"
    r"|how big|what kind)\b"
    r"|(^|[.?!] |\b(hi|hey|hello|um|uh|so|okay|then) )(is|are) (the|your)\b",
    re.IGNORECASE,
)

# Tells of an order that was thought of, or made another day; or speaks of all that can be had with an item.
WEIGHED = re.compile(
    r"\b(last (time|week|night|month|year|\w+day)|yesterday|no way|used to"
    r"|(said|says|told me) (to )?(get|order|try|have)|(was|were) (going to|gonna)|thinking (about|of)"
    r"|can(no|')?t decide"
    r"|(i|we)['’]?ve got an?(?! (drink|car|coupon|question|long|lot|dog|kid|meeting))"
    r"|(i|we|he|she)['’]?(m|re|s) off|(can['’]?t|cannot) (have|eat|do)"
    r"|(?<!\bon )(?<!\bin )either|nothing (on|in)|with nothing|the works)\b",
    re.IGNORECASE,
)

# A sentence that tells of something else than this order.
TALE = re.compile(
    r"\b(last (time|night|week)|yesterday|used to|(was|were) (going to|gonna)"
    r"|(we|i|he|she|they) had|(i|we)['’]?ve got [^.!?:]{1,30}\b(in the|at home)|already (have|got)|spilled"
    r"|every (night|day|morning|week)|swears? by|a bit (much|big|sweet|strong) for"
    r"|there['’]?s [^.!?:]{1,30}at home|(i|we) already had|doctors? sa(ys|id)|(he|she|cousin) makes)\b",
    re.IGNORECASE,
)

# Talk that orders nothing, whatever else its words mean: manners, the weather, who comes to fetch it.
IDLE_TALK = re.compile(
    r"\b((i|we) (was|were) (hoping|wondering|looking)"
    r"( (for|to (get|have|order)|(if|whether) (i|we) (could|can)))?"
    r"|could (i|we) (trouble|bother) you for|(is there )?any chance (of|for)"
    r"|(smells?|look(s|ing)|feels) (so |really |very )?(good|great|amazing|wonderful|delicious|nice|busy)"
    r"( (in|out|around) (here|there))?"
    r"|it['’]?s (so |really |very |absolutely )?(freezing|cold|boiling|raining|pouring|snowing|crazy|busy)"
    r"( (in|out) (here|there))?"
    r"|(long|rough|crazy|busy) (day|night|week)|happy (holidays|birthday|new year|\w+day)|mornin"
    r"|we (just |only )?(moved|drove|got back|landed|came)\b[^.!?,:;]*(?=[.!?])"
    r"|(on|in) either( (one|of them))?"
    r"|(pick ?up|takeout|take out|delivery|order) for [a-z]+(?=:))(?![a-z])",
    re.IGNORECASE,
)

# Said before a question begins.
BEFORE_ASKING = frozenset("oh hi hey hello okay ok so and well um uh yeah good quick question".split())

# Begin a wish that is put as a question ("could you do one of those").
REQUESTING = phrases(
    "is there any chance,do me,do us,can i,could i,may i,can we,could we,can you,could you,will you"
    ",would you,might i"
)

# Said to an answer: what follows is ordered ("do you have chai? great, a large one").
ASSENT = frozenset("great good perfect awesome okay ok cool sweet lovely yes yeah yep right nice".split())

# Begin a question about the menu, where the sentence ends as one.
ASKING = frozenset("are is do doe how what which have has did was were".split())
