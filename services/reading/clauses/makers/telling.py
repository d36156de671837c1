"""What a clause comes to that orders something, or says something of what was ordered."""

from __future__ import annotations

from services.reading.clauses.changes import Add, Changes, Focus
from services.reading.clauses.clause import Clause, Lost
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.asking import Asker
from services.reading.clauses.makers.assigning import Assigner
from services.reading.clauses.makers.repeating import Repeater
from services.reading.clauses.makers.replacing import Replacing
from services.reading.clauses.makers.sharing import told_apart
from services.reading.clauses.makers.unlisted import Unlisted
from services.reading.clauses.makers.waiting import Waiting
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally


class Teller:
    """Hands a clause to the maker that it is for."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._words = listener.tokens.language
        self._tally, self._pointer = tally, pointer
        self._replacing, self._waiting = Replacing(listener.tokens, tally), Waiting(tally)
        self._repeater, self._asker = Repeater(listener, tally), Asker(listener, tally, pointer)
        self._unlisted = Unlisted(listener, tally)
        self._assigner = Assigner(listener, tally, pointer)

    def tell(self, clause: Clause, said: Said, before: Clause | None, *, gives_way: bool) -> Changes:
        """ "A latte", "with oat", "the same again". `before` is the clause before it; where it `gives_way`,
        what it takes the place of is still to come.

        Raises:
            Lost: it can't be followed.
        """
        if not said.anything and (off := self._unlisted.listed(clause, before)) is not None:
            yield Add(off, aside=True)
            return
        if gives_way:
            yield from self._replacing.settled()
        replaces = self._replacing.replaces(clause, said)
        if (yield from self._asker.adopt(clause, said)):
            yield from self._replacing.settled()
        elif off := self._unlisted.wish(clause, said):
            yield from self._unlisted.add(off, replaces=replaces)
            yield from self._replacing.settled()
        elif not said.anything:
            yield from self._without_values(clause, said)
        elif said.leaves_open(self._words):
            raise Lost
        elif not said.finds_fault(self._words):
            yield from self._with_values(clause, said, replaces=replaces)

    def _with_values(self, clause: Clause, said: Said, *, replaces: bool) -> Changes:
        yield from self._replacing.settled()
        yield from self._assigner.assign(clause, said, replaces=replaces)
        yield from self._asker.take_up(said)
        yield from self._replacing.filled()
        if (extra := self._unlisted.beside(clause)) is not None:
            yield Add(extra, aside=True)

    def _without_values(self, clause: Clause, said: Said) -> Changes:
        """ "The same size", "the same again", "on the first, ...": no value is named."""
        yield from self._replacing.waits(clause)
        if (size := self._repeater.same_size(said)) is not None:
            yield from self._waiting.same_size(size)
            return
        ordinal = not self._words.ordinals.keys().isdisjoint(said.words)
        target = self._pointer.refers(clause, said) if ordinal else None
        if target is not None:
            line = yield from told_apart(self._tally, target)
            yield Focus((line,))  # "on the first, avocado and spinach"
        else:
            yield from self._repeater.again(clause, said)
