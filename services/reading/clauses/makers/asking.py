"""Questions about the menu in an order: nothing is ordered by one, but what is said next may be about it."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from services.reading.clauses.changes import Add, Answer, Ask, Changes, Expect
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.sharing import share
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish


class Asker:
    """Makes the changes of a clause that asks, and of one that orders what was asked about."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._listener, self._odd = listener, listener.odd
        self._tally, self._pointer = tally, pointer
        self._words = listener.tokens.language

    def ask(self, clause: Clause, said: Said) -> Changes:
        """ "Do you have oat milk?": nothing is ordered by it."""
        name = said.item
        # What is asked about as a thing may be meant as a part of a meal.
        own = self._listener.options(name) if name is not None else ()
        offered = said.options if name is None else (own,) if own else ()
        yield Ask(self._asked(clause, said), offered)

    def _asked(self, clause: Clause, said: Said) -> Wish | None:
        """The thing that is asked about, on the menu or not."""
        odd = [i for i in range(clause.body, clause.end) if i in self._odd]
        name = said.item
        if name is not None and len(said.skus) == 1 and name.start - 1 not in odd:
            size = said.sizes[-1] if said.sizes else None
            return Wish(said.skus, (name.start, name.end), size=size)
        return Wish((), (odd[0], odd[-1] + 1)) if odd else None

    def adopt(self, clause: Clause, said: Said) -> Answer[bool]:
        """ "I'd like two of those": what was asked about is ordered. True where that is all."""
        tally = self._tally
        asked = tally.expected.asked
        if asked is None or not (said.anything or said.has(self._words.some)):
            return False
        pointed = self._points(clause, said)
        if said.item is None and not pointed:
            return False
        yield Expect(replace(tally.expected, asked=None))
        if said.item is not None:
            if pointed and not asked.items:
                yield Add(asked)
            return False
        line = replace(asked, quantity=said.number.value if said.number else 1)
        yield Add(line)
        yield from share(tally, (line,), said)
        return True

    def _points(self, clause: Clause, said: Said) -> bool:
        """Whether what was asked about is meant: "some of those", or "a large" before anything is ordered."""
        if self._pointer.points(clause, said):
            return True
        return said.item is None and not self._tally.wishes and bool(said.number or said.sizes)

    def take_up(self, said: Said) -> Changes:
        """ "Do you have oat milk? Then a latte with that": a choice that was asked about."""
        tally = self._tally
        offered = tally.expected.offered
        if offered and self._with_it(said):
            fits = [c for c in offered if any(tally.choice(w, c) for w in tally.focus)]
            yield from share(tally, tally.focus, Said(options=tuple(fits)))
            yield Expect(replace(tally.expected, offered=()))

    def _with_it(self, said: Said) -> bool:
        """ "With that"."""
        words = self._words
        return any(a in words.accompanying and b in words.pointing for a, b in pairwise(said.words))
