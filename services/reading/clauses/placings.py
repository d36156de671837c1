"""Where several choices are said to be of one of several: "ham and corn on one, salami on the other", "mayo
on the first honey mustard on the second", "a cream and two sugars in each". Each such run is a clause of
its own, and the "and" in it joins choices, not lines.
"""

from __future__ import annotations

from services.reading.chart.mentions import Name
from services.reading.chart.tokens import SENTENCE_ENDS, Token, Utterance
from services.reading.language.english import AMOUNTS, AND, MEASURES
from services.reading.language.turns import EACH, ORDINALS, THE_OTHER, THEIRS

_BEFORE_CHOICE = AMOUNTS.keys() | MEASURES | frozenset("a an any some helping".split())
_NEITHER = frozenset("either neither none".split())


def runs(tokens: Utterance, names: list[Name]) -> list[tuple[int, int]]:
    """Positions [start, end) of each run of choices and the words that tell of which one they are."""
    choices = {n.end: n.start for n in names if n.of("option") and not n.of("item")}
    named = {i for name in names for i in range(name.start, name.end)}
    found: list[tuple[int, int]] = []
    for at in range(1, len(tokens) - 1):
        end = _which(tokens, at)
        if end in named and not tokens[end - 1].after:
            continue  # "on both burgers"
        if end is None or at not in choices or tokens[at - 1].after in SENTENCE_ENDS:
            continue
        start = _start(tokens, choices, at, each=tokens[end - 1].folded in EACH)
        if not found or found[-1][1] <= start:
            found.append((start, end))
    return found


def _which(tokens: Utterance, at: int) -> int | None:
    """The end of "on one", "in the other", "on the first", "on hers", "in each" at `at`; None for any
    other words."""
    if tokens[at].folded not in ("on", "in"):
        return None
    i = at + 1
    while i < len(tokens) - 1 and tokens[i].folded in ("the", "just", "only"):
        i += 1
    word = tokens[i].folded
    if word not in THE_OTHER | ORDINALS.keys() | THEIRS | EACH | {"1"} | _NEITHER:
        return None
    if word in EACH and i + 1 < len(tokens) and tokens[i + 1].folded.isdigit() and not tokens[i].after:
        return i + 2  # "on all three"
    of_them = [token.folded for token in tokens[i + 1 : i + 3]]
    if of_them[:1] == ["of"] and of_them[1:] in (["them"], ["those"], ["em"]):
        return i + 3
    if of_them[:1] == ["of"] and word == "each":
        return None  # "in each of the medium ones"
    follows = tokens[i + 1].folded if i + 1 < len(tokens) and not tokens[i].after else ""
    if word == "1" and follows in ("of", "with"):
        return None  # "on one of the burgers", "on the one with Sprite"
    return i + 2 if follows == "1" and word != "1" else i + 1


def _start(tokens: Utterance, choices: dict[int, int], at: int, *, each: bool) -> int:
    """Where the run of choices that ends at `at` begins."""
    start = choices[at]
    while True:
        first = start
        while first > 0 and _leads(tokens[first - 1], each=each) and not tokens[first - 1].after:
            first -= 1
        joint = first - 1
        joined = joint > 0 and tokens[joint].folded in AND and joint in choices and not tokens[joint].after
        if not joined or tokens[joint - 1].after in SENTENCE_ENDS:
            return first
        start = choices[joint]


def _leads(token: Token, *, each: bool) -> bool:
    return token.folded in _BEFORE_CHOICE or (each and token.folded.isdigit())
