"""Wishes for what the menu does not have: unknown words that are wished for as an item is."""

from __future__ import annotations

from services.reading.chart.mentions import Name
from services.reading.clauses.changes import Add, Changes, Recount
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish


class Unlisted:
    """Finds them, and makes the changes that order them."""

    def __init__(self, listener: Listener, tally: Tally) -> None:
        self._tokens, self._numbers, self._odd = listener.tokens, listener.numbers, listener.odd
        self._tally = tally
        self._language = listener.tokens.language

    def wish(self, clause: Clause, said: Said) -> Wish | None:
        """What a clause wishes for that is not on the menu; None for anything else."""
        return self._unknown(clause, said) or self._compound(clause, said)

    def add(self, off: Wish, *, replaces: bool) -> Changes:
        """ "Four donuts, no, make it two donuts": the same thing that the menu does not have, another
        number."""
        tokens = self._tokens
        words = [token.folded for token in tokens[slice(*off.at)]]
        known = [w for w in self._tally.wishes if not w.items]
        same = [w for w in known if [token.folded for token in tokens[slice(*w.at)]] == words]
        if replaces and same:
            yield Recount(same[0], off.quantity)
        else:
            yield Add(off)

    def beside(self, clause: Clause) -> Wish | None:
        """Something unknown that an item is wished for with: "fries with truffle oil"."""
        articles = self._language.indefinite_articles | self._language.some
        for i in range(clause.body + 1, clause.end):
            before = self._tokens[i - 1].folded
            if before in articles and i - 1 > clause.body:
                before = self._tokens[i - 2].folded
            if i in self._odd and before in self._language.accompanying:
                return Wish((), (i, i + 1))
        return None

    def listed(self, clause: Clause, before: Clause | None) -> Wish | None:
        """Something unknown in a list of what an item is wished for with: "swiss and pineapple on it"."""
        language = self._language
        goes_on = before is not None and not before.cue and any(name.of("option") for name in before.names)
        odd = clause.body in self._odd and self._tokens[clause.body].folded not in language.particles
        joined = clause.lead == "," or clause.lead in language.conjunctions
        return Wish((), (clause.body, clause.body + 1)) if goes_on and joined and odd else None

    def _unknown(self, clause: Clause, said: Said) -> Wish | None:
        """A wish for what the menu does not have: unknown words that a number or article leads to."""
        odd = [i for i in range(clause.body, clause.end) if i in self._odd]
        item = said.item
        if not odd or (item is not None and not self._part_beside(item)):
            return None
        first = odd[0] if item is None else min(odd[0], item.start)
        at = self._thing(clause, first)
        number = next((n for n in self._numbers if n.end == at and n.start >= clause.body), None)
        before = [token.folded for token in self._tokens[clause.body : at]]
        if not (number or self._led(before)) or self._talks(before, odd):
            return None
        return Wish((), (first, odd[-1] + 1), number.value if number else 1)

    def _talks(self, before: list[str], odd: list[int]) -> bool:
        """ "We're six people", "we had nachos"."""
        unwished = {self._tokens[i].folded for i in odd} <= self._language.unwished
        return unwished or self._had_already(before)

    def _thing(self, clause: Clause, first: int) -> int:
        """Where the words begin that say what is wished for, of which `first` is unknown: "a big slice of
        cake"."""
        language = self._language
        known = {i for n in clause.names for i in range(n.start, n.end)} | self._odd
        passed = language.vessels | language.qualifying
        at = first
        while at > clause.body and (at - 1 in known or self._tokens[at - 1].folded in passed):
            at -= 1
        return at

    def _led(self, before: list[str]) -> bool:
        """Whether words lead to a wish: "a", "I'd like", "could I have the"."""
        language = self._language
        if not before:
            return False
        if before[-1] in language.definite_articles:
            return len(before) > 1 and before[-2] in language.having | language.recipients
        return before[-1] in language.before_unlisted

    def _had_already(self, before: list[str]) -> bool:
        """ "We had nachos", "what was in my nachos"; but "my son wants a slice of pizza"."""
        language, words = self._language, set(before)
        wanted = bool(language.having & words)
        return bool(language.past & words) or (not wanted and bool(language.speakers & words))

    def _compound(self, clause: Clause, said: Said) -> Wish | None:
        """A wish by a name made of parts of others, which do not go together: a "hot chocolate" where there
        are hot dogs and chocolate shakes."""
        mention = said.item.of("item") if said.item is not None else None
        if said.item is None or mention is None or mention.strong or said.item.start == clause.body:
            return None
        beside = next((n for n in clause.names if n.start == said.item.end and n.of("option")), None)
        article = self._tokens[said.item.start - 1].folded in self._language.indefinite_articles
        led = article or said.number is not None
        if beside is None or not led or self._tally.groups(said.skus) & set(beside.readings[0].groups):
            return None
        return Wish((), (said.item.start, beside.end), said.number.value if said.number else 1)

    def _part_beside(self, name: Name) -> bool:
        """Whether an unknown word stands next to a mere part of a name: "breakfast burritos"."""
        mention = name.of("item")
        part = mention is not None and not mention.strong and not mention.guessed
        return part and bool({name.start - 1, name.end} & self._odd)
