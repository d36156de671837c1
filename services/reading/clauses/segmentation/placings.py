"""Where several choices are said to be of one of several: "ham and corn on one, salami on the other", "mayo
on the first honey mustard on the second", "a cream and two sugars in each". Each such run is a clause of
its own, and the "and" in it joins choices, not lines.
"""

from __future__ import annotations

from services.reading.chart.mentions import Name
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.language.language import Language


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
        each = tokens[end - 1].folded in tokens.language.each
        start = _start(tokens, choices, at, each=each)
        if not found or found[-1][1] <= start:
            found.append((start, end))
    return found


def _which(tokens: Utterance, at: int) -> int | None:
    """The end of "on one", "in the other", "on the first", "on hers", "in each" at `at`; None for any
    other words."""
    language = tokens.language
    if tokens[at].folded not in language.placing:
        return None
    i = at + 1
    while i < len(tokens) - 1 and tokens[i].folded in language.before_the_one:
        i += 1
    if tokens[i].folded not in language.which_one:
        return None
    return _end_of_which(tokens[i].folded, [t.folded for t in tokens[i + 1 : i + 3]], i, tokens)


def _end_of_which(word: str, after: list[str], at: int, tokens: Utterance) -> int | None:
    """The end of the words that tell which one, of which `word` is the first, at `at`, and `after` the next
    two; None where they lead to something that is named."""
    language = tokens.language
    follows = "" if tokens[at].after else "".join(after[:1])
    if word in language.each and follows.isdigit():
        return at + 2  # "on all three"
    if _of_them(after, language):
        return at + 3
    if word in language.apiece and after and after[0] in language.partitive:
        return None  # "in each of the medium ones"
    one = word in language.ones
    if one and follows in language.partitive | language.accompanying:
        return None  # "on one of the burgers", "on the one with Sprite"
    return at + 2 if follows in language.ones and not one else at + 1


def _of_them(words: list[str], language: Language) -> bool:
    return len(words) > 1 and words[0] in language.partitive and words[1] in language.plural_pronouns


def _start(tokens: Utterance, choices: dict[int, int], at: int, *, each: bool) -> int:
    """Where the run of choices that ends at `at` begins."""
    language = tokens.language
    start = choices[at]
    while True:
        first = start
        while first > 0 and _leads(tokens[first - 1].folded, language, each=each):
            if tokens[first - 1].after:
                break
            first -= 1
        joint = first - 1
        joined = joint > 0 and tokens[joint].folded in language.conjunctions
        if not joined or joint not in choices or tokens[joint].after:
            return first
        start = choices[joint]


def _leads(word: str, language: Language, *, each: bool) -> bool:
    return word in language.before_choice or (each and word.isdigit())
