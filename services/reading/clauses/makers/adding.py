"""What a clause adds to an order that is being told: lines, and parts of lines."""

from __future__ import annotations

from dataclasses import replace

from schemas.cart import MAX_QUANTITY, Amount
from services.reading.clauses.changes import (
    Add,
    Answer,
    Changes,
    Expect,
    Recount,
    Remove,
    Swap,
    Turn,
)
from services.reading.clauses.clause import Clause, Lost
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.becoming import kin
from services.reading.clauses.makers.restating import Restater
from services.reading.clauses.makers.sharing import share, split
from services.reading.clauses.makers.waiting import Waiting
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish
from services.reading.values.numbers import is_plural


class Adder:
    """Makes the changes of a clause that orders an item, or refuses one."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._menu = listener.tokens, listener.menu
        self._words = listener.tokens.language
        self._tally, self._pointer = tally, pointer
        self._restater = Restater(listener, tally)
        self._waiting = Waiting(tally)

    def item(self, clause: Clause, said: Said, *, replaces: bool) -> Changes:
        """Order an item, or say more of one that is ordered; `replaces` what was said last.

        Raises:
            Lost: how many, or of which line, can't be told.
        """
        assert said.item is not None
        if self._is_talk(clause, said):
            return
        if replaces:
            yield from self._waiting.sized_again(said)
        counted = said.number is not None or self._pointer.article(clause, said.item.start)
        line = yield from self._known(clause, said, counted=counted, replaces=replaces)
        if line is None:
            line = yield from self._new(said, counted=counted, replaces=replaces)
        elif said.number is not None:
            yield Recount(line, said.number.value)
        if (shares := self._each_one(clause, said)) and line.quantity == 1:
            yield Recount(line, shares)  # "and we both want a large coke"
        if line.quantity > MAX_QUANTITY:
            raise Lost
        yield from share(self._tally, (line,), said)
        yield from self._waiting.head_of(line, said, counted=counted)
        yield from self._waiting.take_early(line, said, counted=counted)

    def _leading(self, clause: Clause, said: Said) -> list[str]:
        """The words of a clause before its item."""
        assert said.item is not None
        return [token.folded for token in self._tokens[clause.body : said.item.start]]

    def _is_talk(self, clause: Clause, said: Said) -> bool:
        """ "That coffee at work upset my stomach": of something that nobody ordered here."""
        leading = self._leading(clause, said)
        others = bool(leading) and leading[-1] in self._words.others
        return others and not self._tally.of_item(said.skus) and clause.lead not in self._words.conjunctions

    def _each_one(self, clause: Clause, said: Said) -> int:
        """How many are wished for where each of us wants one: "we both want a cola", "and a tea each"; 0
        if not."""
        assert said.item is not None
        before = self._leading(clause, said)
        if not self._words.dual.isdisjoint(before) and not self._words.plural_persons.isdisjoint(before):
            return 2
        last = self._ends_with_each(clause) and self._pointer.article(clause, said.item.start)
        return sum(wish.quantity for wish in self._tally.wishes[:-1]) if last else 0

    def _ends_with_each(self, clause: Clause) -> bool:
        """ "A tea each", "a tea each of them"."""
        words = [token.folded for token in self._tokens[clause.body : clause.end]]
        of, them = self._words.partitive, self._words.plural_pronouns
        if len(words) > 2 and words[-2] in of and words[-1] in them:
            words = words[:-2]
        return bool(words) and words[-1] in self._words.distributive

    def refuses(self, clause: Clause, said: Said) -> Answer[bool]:
        """ "No muffin", "skip the fries": take a line back that was ordered; False where nothing is
        refused."""
        if said.item is None:
            return False
        leading = self._leading(clause, said)
        nearest = next((w for w in reversed(leading) if w not in self._words.articles), "")
        if self._words.amounts.get(nearest) is not Amount.NONE:
            return False
        known = self._tally.of_item(said.skus)
        if known:
            yield Remove(known[0])
            return True
        return leading[-1] in self._words.articles or self._is_denied(clause, said, leading)

    def _is_denied(self, clause: Clause, said: Said, leading: list[str]) -> bool:
        """ "Scampi, no chips": a thing that nobody ordered is refused, where "no" is no correction."""
        assert said.item is not None
        no = len(leading) == 1 and (leading[0],) in self._words.replacing
        return no and said.item.end == clause.end and clause.lead == "," and bool(self._tally.wishes)

    def _known(self, clause: Clause, said: Said, *, counted: bool, replaces: bool) -> Answer[Wish | None]:
        """The line that is spoken of again, or that waits for its kind or number; None for a new one."""
        tally, last = self._tally, self._tally.wishes[-1] if self._tally.wishes else None
        if last is not None and len(last.items) > 1 and set(last.items) & set(said.skus):
            # "Two muffins, blueberry": which one was open.
            number = said.number.value if said.number else 1 if counted else last.quantity
            line = yield from split(tally, last, number)
            yield Turn(line, tuple(sku for sku in last.items if sku in said.skus))
            return line
        several = self._is_several(said)
        if several and not tally.of_item(said.skus):
            line = yield from self._new(said, counted=False, replaces=replaces)
            yield Expect(replace(tally.expected, uncounted=line))
            return line
        early = bool(tally.expected.early)
        told = self._restater.line(clause, said, counted, several=several, replaces=replaces, early=early)
        return (yield from told)

    def _is_several(self, said: Said) -> bool:
        """ "Burgers": a plural whose number was not said; "ten piece wings" have one."""
        mention = said.item.of("item") if said.item is not None else None
        if said.number is not None or mention is None or self._tally.expected.early:
            return False
        return is_plural(mention, self._menu) and not (said.sizes and said.has(self._words.pieces))

    def _new(self, said: Said, *, counted: bool, replaces: bool) -> Answer[Wish]:
        tally, last = self._tally, self._tally.wishes[-1] if self._tally.wishes else None
        assert said.item is not None
        place, quantity = (said.item.start, said.item.end), said.number.value if said.number else 1
        if not replaces or last is None:
            line = Wish(said.skus, place, quantity)
            yield Add(line)
            return line
        line = Wish(kin(tally, last, said.skus), place, quantity)
        if not counted:
            options = {c: v for c, v in last.options.items() if tally.offers(line, c[0])}
            line = replace(line, quantity=last.quantity, size=last.size, options=options)
        yield Swap(last, line)
        return line
