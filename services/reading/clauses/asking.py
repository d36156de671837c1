"""Questions about the menu in an order: nothing is ordered by one, but what is said next may be about it."""

from __future__ import annotations

from itertools import pairwise

from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Choices, Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish


class Asker:
    """Remembers what is asked about, and orders it where it is pointed at."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._listener, self._odd = listener, listener.odd
        self._tally, self._pointer = tally, pointer
        self._words = listener.tokens.language
        self._topic: Wish | None = None
        self._offered: tuple[Choices, ...] = ()

    def ask(self, clause: Clause, said: Said) -> None:
        """Remember what is asked about; nothing is ordered by it."""
        odd = [i for i in range(clause.body, clause.end) if i in self._odd]
        name = said.item
        if name is not None and len(said.skus) == 1 and name.start - 1 not in odd:
            size = said.sizes[-1] if said.sizes else None
            self._topic = Wish(said.skus, (name.start, name.end), size=size)
        elif odd:
            self._topic = Wish((), (odd[0], odd[-1] + 1))
        # What is asked about as a thing may be meant as a part of a meal.
        own = self._listener.options(name) if name is not None else ()
        self._offered = said.options if name is None else (own,) if own else ()

    def adopt(self, clause: Clause, said: Said) -> bool:
        """ "I'd like two of those": what was asked about is ordered. True where that is all."""
        topic = self._topic
        if topic is None or not (said.anything or said.has(self._words.some)):
            return False
        pointed = self._points(clause, said)
        if said.item is None and not pointed:
            return False
        self._topic = None
        if said.item is not None:
            if pointed and not topic.items:
                self._tally.add(topic)
            return False
        wish = self._tally.add(topic)
        wish.quantity = said.number.value if said.number else 1
        self._pointer.give([wish], said)
        return True

    def _points(self, clause: Clause, said: Said) -> bool:
        """Whether what was asked about is meant: "some of those", or "a large" before anything is ordered."""
        if self._pointer.points(clause, said):
            return True
        return said.item is None and not self._tally.wishes and bool(said.number or said.sizes)

    def take_up(self, said: Said) -> None:
        """ "Do you have oat milk? Then a latte with that": a choice that was asked about."""
        if self._offered and self._with_it(said):
            fits = [c for c in self._offered if any(self._tally.choice(w, c) for w in self._tally.focus)]
            self._pointer.give(self._tally.focus, Said(options=tuple(fits)))
            self._offered = ()

    def _with_it(self, said: Said) -> bool:
        """ "With that"."""
        words = self._words
        return any(a in words.accompanying and b in words.pointing for a, b in pairwise(said.words))
