"""What the words beside a name tell of it: whether they lead to a thing of its own ("two colas"), to a choice
of the item before ("with a cola"), or only point ("no mayo on the sandwich").
"""

from __future__ import annotations

from schemas.cart import Amount
from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.tokens import SENTENCE_ENDS, Token, Utterance, folded, span
from services.reading.language.english import AMOUNT_FILLERS, AMOUNTS, AND, COFFEES, FILLERS, MEASURES
from services.reading.language.turns import THE_OTHER
from services.reading.values.numbers import number_value

# What follows belongs to the item before; what follows the others is one thing more, perhaps.
_INTRODUCING = frozenset("with including drink side choice".split())
_ON_IT = frozenset("it that them top there".split())
_ADDING_LINES = frozenset("also plus then another".split())


def leading(tokens: Utterance, mentions: list[Mention], mention: Mention, since: int) -> tuple[bool, bool]:
    """How a name is led to that may be an item or a choice of the item that ends at character `since`:
    whether a number of its own counts it ("two colas"), and whether it goes on from that item ("with a
    cola", "combo, cola", "fries and a cola" after "with")."""
    at = span(tokens, mention)[0]
    sizes = {i for m in mentions if m.kind == "size" for i in range(*span(tokens, m))}
    while at > 0 and at - 1 in sizes:
        at -= 1
    between = [t for t in tokens[:at] if t.start >= since]
    number = number_value(between[-1].folded) if between else None
    ended = any(t.after in SENTENCE_ENDS for t in (*between, *(t for t in tokens if t.end == since)))
    words = {t.folded for t in between}
    if words & _INTRODUCING and not ended and number is not None and number > 1 and between[:-1]:
        apart = between[-2].folded in AND or bool(between[-2].after)
        return False, not apart  # "with sauce and six hummus": of it, or six more things
    if words & _INTRODUCING and not ended:
        return False, not words & _ADDING_LINES
    if number is not None and (number > 1 or ended):
        return True, False
    end = next((i for i, t in enumerate(tokens) if t.end == mention.end), at)
    if [t.folded for t in tokens[end + 1 : end + 3]] == ["to", "drink"]:
        return False, True  # "and a coke to drink"
    article = bool(between) and (number == 1 or between[-1].folded in ("a", "an"))
    return False, not article and not ended and not words & _ADDING_LINES


def may_stand_alone(tokens: Utterance, mention: Mention, groups: set[str], menu: Menu) -> bool:
    """Whether an article leads to what may be a thing of its own: "and a coffee", after ice cream that
    comes in flavours, of which coffee is one; not where a group's choices are things, like the drinks of a
    combo."""
    at = span(tokens, mention)[0]
    if not at or tokens[at - 1].folded not in ("a", "an"):
        return False
    things = {name.casefold() for item in menu.items for name in (item.name, *item.aliases)}
    choices = [option for group in menu.option_groups if group.id in groups for option in group.options]
    named = sum(
        not things.isdisjoint({o.name.casefold(), *(a.casefold() for a in o.aliases)}) for o in choices
    )
    return 2 * named < len(choices)


def begins_part(between: list[Token]) -> bool:
    """ "Two combos, one with fries, the other with fries too"."""
    words = [token.folded for token in between]
    opens = [i for i, word in enumerate(words) if word in THE_OTHER or number_value(word) is not None]
    return bool(opens) and not {"with", "get"}.isdisjoint(words[opens[0] :])


def measures(tokens: Utterance, mention: Mention, mentions: list[Mention]) -> bool:
    """ "One shot of vanilla" is no espresso."""
    first, end = span(tokens, mention)
    measure = mention.kind == "option" and {t.folded for t in tokens[first:end]} <= MEASURES
    of = end + 1 < len(tokens) and tokens[end].folded == "of" and not tokens[end - 1].after
    return measure and of and any(m.kind == "option" and span(tokens, m)[0] == end + 1 for m in mentions)


def on_another(tokens: Utterance, mention: Mention) -> bool:
    """Whether an item is to stand on another: "and put chopped brisket on it"."""
    end = span(tokens, mention)[1]
    after = [t.folded for t in tokens[end : end + 2]]
    return after[:1] == ["on"] and not _ON_IT.isdisjoint(after[1:])


def lightly(tokens: Utterance, mention: Mention, mentions: list[Mention]) -> bool:
    """Whether little is wished for of an item: "easy on the gravy" is no side of it."""
    at = span(tokens, mention)[0] - 1
    while at >= 0 and tokens[at].folded in AMOUNT_FILLERS and not tokens[at].after:
        at -= 1
    named = any(m.start <= tokens[at].start < m.end for m in mentions)
    return at >= 0 and AMOUNTS.get(tokens[at].folded) is Amount.LIGHT and not named and not tokens[at].after


def points_back(tokens: Utterance, mention: Mention, mentions: list[Mention]) -> bool:
    """Whether a part of a name points at what was ordered before: "no mayo on the sandwich", and at a
    cheeseburger by "the burger" where nothing else was."""
    at, word = span(tokens, mention)[0], mention.text.casefold()
    choices = {(m.start, m.end) for m in mentions if m.kind == "option"}
    things = [m for m in mentions if m.kind == "item" and m.strong]
    alike = {m.ids for m in things if set(m.ids) & set(mention.ids)}
    alone = [m for m in things if (m.start, m.end) not in choices]
    led = [t.folded for t in tokens[max(at - 2, 0) : at]] in (["on", "the"], ["in", "the"])
    # "A cola. On the melts, one gets bacon" begins to speak of them.
    led = led and at > 2 and not tokens[at - 3].after
    if not led or any(m.end > mention.start for m in things):
        return False
    called = len(alone) == 1 and any(part.endswith(word) for part in alone[0].text.casefold().split())
    return called or len(alike) == 1


def beside(tokens: Utterance, mention: Mention, others: list[Mention]) -> bool:
    """Whether another mention stands next to this one, with no joint between."""
    for other in others:
        low, high = sorted((mention, other), key=lambda m: m.start)
        between = [t for t in tokens if low.end <= t.start and t.end <= high.start]
        ends = [t for t in tokens if t.end == low.end and t.after]
        if len(between) <= 2 and not ends and not any(t.folded in AND or t.after for t in between):
            return True
    return False


def unmilked(tokens: Utterance, at: int, mentions: list[Mention]) -> bool:
    """Whether "black" only says that nothing goes into a coffee: "a large black coffee", "two coffees, both
    black"."""
    if tokens[at].folded != "black":
        return False
    coffees = [m for m in mentions if m.kind == "item" and folded(m.text, tokens.language)[-1] in COFFEES]
    leads = any(span(tokens, m)[0] == at + 1 for m in coffees)
    closes = at + 1 == len(tokens) or bool(tokens[at].after) or tokens[at + 1].folded in AND | FILLERS
    closes = closes or tokens[at + 1].folded.isdigit()
    return leads or (closes and any(m.end < tokens[at].start for m in coffees))
