"""What the words beside a name tell of it: whether they lead to a thing of its own ("two colas"), to a choice
of the item before ("with a cola"), or only point ("no mayo on the sandwich").
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from schemas.cart import Amount
from schemas.menu import Menu
from services.reading.chart.span import Span
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance, folded, span
from services.reading.values.numbers import number_value


@dataclass(frozen=True, slots=True)
class Lead:
    """How a name is led to that may be an item or a choice of the item before: whether a number of its own
    counts it ("two colas"), and whether it goes on from that item ("with a cola")."""

    counted: bool
    goes_on: bool


class _Between:
    """The words from an item that ends at character `since` to a name, and to the sizes before it."""

    def __init__(self, tokens: Utterance, mentions: list[Span], mention: Span, since: int) -> None:
        at = span(tokens, mention)[0]
        sizes = {i for m in mentions if m.kind == "size" for i in range(*span(tokens, m))}
        while at > 0 and at - 1 in sizes:
            at -= 1
        self._said = tokens.language
        self.tokens = [t for t in tokens[:at] if t.start >= since]
        self.ended = any(t.after in SENTENCE_ENDS for t in tokens[:at] if t.end >= since)
        self.number = number_value(self.tokens[-1].folded, self._said) if self.tokens else None

    def has(self, words: Set[str]) -> bool:
        return any(token.folded in words for token in self.tokens)

    @property
    def counts_one(self) -> bool:
        """Whether an article or a one is last."""
        return bool(self.tokens) and (
            self.number == 1 or self.tokens[-1].folded in self._said.indefinite_articles
        )

    @property
    def counts_several(self) -> bool:
        return self.number is not None and self.number > 1

    @property
    def may_count_lines(self) -> bool:
        """Whether a number begins something: "with sauce and six hummus" is of it, or six more things."""
        before = self.tokens[-2]
        return before.folded in self._said.conjunctions or bool(before.after)


def leading(tokens: Utterance, mentions: list[Span], mention: Span, since: int) -> Lead:
    """How a name is led to after an item that ends at character `since`: it goes on from that in "with a
    cola", "combo, cola" and "fries and a cola" after "with"."""
    between = _Between(tokens, mentions, mention, since)
    adds = between.has(tokens.language.besides)
    if not between.ended and between.has(tokens.language.including):
        if between.counts_several and between.tokens[:-1]:
            return Lead(False, not between.may_count_lines)
        return Lead(False, not adds)
    if between.counts_several or (between.ended and between.number is not None):
        return Lead(True, False)
    if _is_to_drink(tokens, mention):
        return Lead(False, True)
    return Lead(False, not (between.counts_one or between.ended or adds))


def _is_to_drink(tokens: Utterance, mention: Span) -> bool:
    """ "And a coke to drink"."""
    end = span(tokens, mention)[1]
    after = tuple(token.folded for token in tokens[end : end + 3])
    return any(after[: len(phrase)] == phrase for phrase in tokens.language.as_drink)


def may_stand_alone(tokens: Utterance, mention: Span, groups: set[str], menu: Menu) -> bool:
    """Whether an article leads to what may be a thing of its own: "and a coffee", after ice cream that
    comes in flavours, of which coffee is one; not where a group's choices are things, like the drinks of a
    combo."""
    at = span(tokens, mention)[0]
    if not at or tokens[at - 1].folded not in tokens.language.indefinite_articles:
        return False
    things = {name.casefold() for item in menu.items for name in (item.name, *item.aliases)}
    choices = [option for group in menu.option_groups if group.id in groups for option in group.options]
    named = sum(
        not things.isdisjoint({o.name.casefold(), *(a.casefold() for a in o.aliases)}) for o in choices
    )
    return 2 * named < len(choices)


def begins_part(tokens: Utterance, start: int, end: int) -> bool:
    """Whether between two token positions one of several is told of: "two combos, one with fries, the other
    with fries too"."""
    said = tokens.language
    words = [token.folded for token in tokens[start:end]]
    opens = (i for i, w in enumerate(words) if w in said.the_other or number_value(w, said) is not None)
    first = next(opens, len(words))
    return not said.part_has.isdisjoint(words[first:])


def measures(tokens: Utterance, mention: Span, mentions: list[Span]) -> bool:
    """ "One shot of vanilla" is no espresso."""
    first, end = span(tokens, mention)
    measure = mention.kind == "option" and tokens.language.measures.issuperset(
        t.folded for t in tokens[first:end]
    )
    of = end + 1 < len(tokens) and tokens[end].folded in tokens.language.partitive
    of = of and not tokens[end - 1].after
    return measure and of and any(m.kind == "option" and span(tokens, m)[0] == end + 1 for m in mentions)


def on_another(tokens: Utterance, mention: Span) -> bool:
    """Whether an item is to stand on another: "and put chopped brisket on it"."""
    end, said = span(tokens, mention)[1], tokens.language
    after = [t.folded for t in tokens[end : end + 2]]
    if len(after) < 2 or after[0] not in said.upon:
        return False
    return after[1] in said.pointing or after[1] in said.placed_on


def lightly(tokens: Utterance, mention: Span, mentions: list[Span]) -> bool:
    """Whether little is wished for of an item: "easy on the gravy" is no side of it."""
    at, said = span(tokens, mention)[0] - 1, tokens.language
    while at >= 0 and tokens[at].folded in said.amount_fillers and not tokens[at].after:
        at -= 1
    if at < 0 or said.amounts.get(tokens[at].folded) is not Amount.LIGHT or tokens[at].after:
        return False
    return not any(m.start <= tokens[at].start < m.end for m in mentions)


def points_back(tokens: Utterance, mention: Span, mentions: list[Span]) -> bool:
    """Whether a part of a name points at what was ordered before: "no mayo on the sandwich", and at a
    cheeseburger by "the burger" where nothing else was."""
    things = [m for m in mentions if m.kind == "item" and m.strong]
    if not _is_placed_on(tokens, span(tokens, mention)[0]) or any(m.end > mention.start for m in things):
        return False
    alike = {m.ids for m in things if set(m.ids) & set(mention.ids)}
    return len(alike) == 1 or _is_the_only_one(mention, things, mentions)


def _is_the_only_one(mention: Span, things: list[Span], mentions: list[Span]) -> bool:
    """Whether a word ends a word of the only thing that was named: the burger in a cheeseburger."""
    choices = {(m.start, m.end) for m in mentions if m.kind == "option"}
    alone = [m for m in things if (m.start, m.end) not in choices]
    word = mention.text.casefold()
    return len(alone) == 1 and any(part.endswith(word) for part in alone[0].text.casefold().split())


def _is_placed_on(tokens: Utterance, at: int) -> bool:
    """Whether "on the" leads to a name, and begins nothing new: "a cola. On the melts, one gets bacon"."""
    if at <= 2 or tokens[at - 3].after:
        return False
    return (
        tokens[at - 2].folded in tokens.language.above
        and tokens[at - 1].folded in tokens.language.definite_articles
    )


def beside(tokens: Utterance, mention: Span, others: list[Span]) -> bool:
    """Whether another mention stands next to this one, with no joint between."""
    for other in others:
        low, high = sorted((mention, other), key=lambda m: m.start)
        between = [t for t in tokens if low.end <= t.start and t.end <= high.start]
        ends = [t for t in tokens if t.end == low.end and t.after]
        joined = any(t.folded in tokens.language.conjunctions or t.after for t in between)
        if len(between) <= 2 and not ends and not joined:
            return True
    return False


def unmilked(tokens: Utterance, at: int, mentions: list[Span]) -> bool:
    """Whether "black" only says that nothing goes into a coffee: "a large black coffee", "two coffees, both
    black"."""
    said = tokens.language
    if tokens[at].folded not in said.unmilked:
        return False
    coffees = [m for m in mentions if m.kind == "item" and folded(m.text, said)[-1] in said.coffees]
    if any(span(tokens, m)[0] == at + 1 for m in coffees):
        return True
    return _is_closed(tokens, at) and any(m.end < tokens[at].start for m in coffees)


def _is_closed(tokens: Utterance, at: int) -> bool:
    """Whether the word at `at` tells of nothing that follows."""
    if at + 1 == len(tokens) or tokens[at].after:
        return True
    after, said = tokens[at + 1].folded, tokens.language
    return after in said.conjunctions or after in said.fillers or after.isdigit()
