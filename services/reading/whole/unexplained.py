"""Words that nothing accounts for: perhaps a wish that was misheard, or for something off the menu.

Whatever is left here sends the order to a human, and is what a second hearing listens for.
"""

from __future__ import annotations

import jellyfish

from schemas.evidence import Mention
from services.reading.chart.tokens import Utterance, covered, sentences, span
from services.reading.language.english import AMOUNTS, AND, FILLERS, NUMBERS, PERSONS, PLAIN
from services.reading.language.talk import ASKED, IDLE_TALK
from services.reading.language.turns import POINTING
from services.reading.names.lexicon import Lexicon
from services.reading.names.neighbours import unmilked
from services.reading.values.amounts import BETWEEN_COUNT
from services.reading.values.numbers import Number, names_something

# "With me", "with that": nothing is wished for beside an item.
_COMPANY = (
    PERSONS
    | AMOUNTS.keys()
    | frozenset("me us him her them that it this these those my our your both each all 1".split())
)
_FILLER_SOUNDS = {jellyfish.metaphone(word) for word in FILLERS if len(word) > 3}
_KNOWN = FILLERS | PLAIN | AMOUNTS.keys() | NUMBERS.keys() | BETWEEN_COUNT


def unexplained(
    text: str, tokens: Utterance, mentions: list[Mention], numbers: list[Number], names: Lexicon
) -> list[int]:
    """Positions of words that are no name, number, amount, correction or filler: perhaps a wish that was
    misheard. Names of categories and groups ("tea", "syrup") say nothing new beside what they belong to."""
    sure = covered(tokens, [m for m in mentions if not m.guessed])
    counted = {i for n in numbers for i in range(n.start, n.end)}
    idle = [*answered(text, tokens, mentions), *(m.span() for m in IDLE_TALK.finditer(text))]
    odd = []
    for i, token in enumerate(tokens):
        plain = text[token.start : token.end].casefold().replace("'", "").replace("’", "")
        known = {token.folded, plain} & (_KNOWN | names.generic)
        # "Brue me a coffee": the first word is a verb more often than a wish.
        verb = i == 0 and len(plain) > 2 and jellyfish.metaphone(plain) in _FILLER_SOUNDS
        verb = verb or (unmilked(tokens, i, mentions))
        if i in sure or i in counted or verb or any(a <= token.start < b for a, b in idle):
            continue
        dangling = token.folded == "with" and _leads_nowhere(tokens, i, sure | counted)
        dangling = dangling or (
            plain == "times" and i - 1 not in counted
        )  # "light rose-times coffee" is iced
        dangling = dangling or _on_an_option(tokens, i, mentions) or _half_a_name(tokens, i, mentions, names)
        if not known or names_something(tokens, i) or dangling:
            odd.append(i)
    return odd


def _on_an_option(tokens: Utterance, at: int, mentions: list[Mention]) -> bool:
    """Whether something would stand on an option, of which nothing was said yet: "sweetener and on the milk"
    is almond milk, misheard."""
    opens = at == 0 or bool(tokens[at - 1].after) or tokens[at - 1].folded in AND
    if not opens or [t.folded for t in tokens[at : at + 2]] != ["on", "the"] or at + 2 >= len(tokens):
        return False
    there = [m for m in mentions if m.start == tokens[at + 2].start]
    # "On the thin crust" names it whole, and no crust of another name.
    return {m.kind for m in there} == {"option"} and not any(" " in m.text for m in there)


def _half_a_name(tokens: Utterance, at: int, mentions: list[Mention], names: Lexicon) -> bool:
    """Whether a little word before an item sounds like what another item's name begins with: a "nice coffee"
    may be an iced one."""
    if at + 1 >= len(tokens) or tokens[at].after:
        return False
    items = [m for m in mentions if m.kind == "item" and m.start == tokens[at + 1].start]
    return any(
        names.begins(tokens[at].folded, tuple(t.folded for t in tokens[slice(*span(tokens, m))]))
        for m in items
    )


def _leads_nowhere(tokens: Utterance, at: int, known: set[int]) -> bool:
    """Whether a "with" is followed by little words alone: "with may oh" was perhaps a wish."""
    for i in range(at + 1, len(tokens)):
        if i in known or tokens[i].folded in _COMPANY or tokens[i].folded not in FILLERS:
            return False
        if tokens[i].after or tokens[i].folded in AND:
            break
    return at + 1 < len(tokens) and not tokens[at].after


def answered(text: str, tokens: Utterance, mentions: list[Mention]) -> list[tuple[int, int]]:
    """Where the words [start, end) ask about something that is not on the menu, and order nothing of it:
    "do you have calzones? No? Then a large Hawaiian"."""
    questions = [(s[0].start, s[-1].end) for s in sentences(tokens) if s[-1].after == "?"]
    return [
        (low, high)
        for low, high in questions
        if ASKED.search(text, low, high)
        and not any(low <= m.start < high for m in mentions)
        and not any(t.folded in POINTING for t in tokens if t.start >= high)
    ]
