"""Where what a clause says goes: to a line that it points at, to one more of the same, to a new line, or to
what was spoken of last."""

from __future__ import annotations

from dataclasses import replace

from services.reading.clauses.changes import Answer, Changes, Focus, Recount, Topic
from services.reading.clauses.clause import Clause, Lost
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.adding import Adder
from services.reading.clauses.makers.becoming import Becoming
from services.reading.clauses.makers.parting import Parter
from services.reading.clauses.makers.repeating import Repeater
from services.reading.clauses.makers.sharing import share, told_apart
from services.reading.clauses.makers.undoing import Undoer
from services.reading.clauses.makers.waiting import Waiting
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish


class Assigner:
    """Decides for each clause that says a value; the others make the changes that it comes to."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._words = listener.tokens.language
        self._tally, self._pointer = tally, pointer
        self._waiting, self._adder = Waiting(tally), Adder(listener, tally, pointer)
        self._repeater, self._undoer = Repeater(listener, tally), Undoer(tally, pointer)
        self._parter = Parter(listener, tally, pointer)
        self._becoming = Becoming(listener, tally, pointer)

    def assign(self, clause: Clause, said: Said, *, replaces: bool) -> Changes:
        """What is said of an item, sizes, options or a number; `replaces` what was said last.

        Raises:
            Lost: it can't be told what it is said of.
        """
        if (yield from self._is_done(clause, said)):
            return
        if self._changes_copy(clause, said):
            said = replace(said, number=None)
        turned = self._becoming.turned(said)
        if (yield from self._becoming.becomes(clause, said, turned)):
            return
        if (target := self._pointer.refers(clause, said)) is not None:
            yield from self._to_line(clause, said, (yield from told_apart(self._tally, target)))
        elif (yield from self._parter.lacks(said)) or (yield from self._repeater.again(clause, said)):
            return
        elif turned and said.number is None:
            yield from self._becoming.turn(clause, said, turned)
        elif said.item is not None:
            yield from self._adder.item(clause, said, replaces=replaces and not self._adds(said))
        elif not self._tally.wishes:
            yield from self._waiting.early(said, replaces=replaces)
        elif said.number is not None and said.counts_anew(clause, self._words, replaces=replaces):
            if not self._tally.focus:
                raise Lost  # "what comes on the bagel? just cheese? great, two"
            yield Recount(self._tally.focus[-1], said.number.value)
        else:
            yield from self._to_last(clause, said, replaces=replaces)

    def _adds(self, said: Said) -> bool:
        """ "Sorry, can I also get a muffin": whether an item joins what stands, and replaces nothing."""
        adds = said.has(self._words.adding) and not said.has(self._words.in_its_place)
        return adds and not self._tally.expected.strong

    def _to_last(self, clause: Clause, said: Said, *, replaces: bool) -> Changes:
        """Sizes and options without an item, in the place of what was said last or beside it."""
        if said.has(self._words.in_its_place) and not self._tally.expected.freed:
            yield from self._undoer.give_way(said)
        elif replaces and not said.refuses:
            yield from self._undoer.unsay(said)
        yield from self._parter.part(clause, said)

    def _is_done(self, clause: Clause, said: Said) -> Answer[bool]:
        """Whether nothing is left to assign: a number came late, an item is refused, a line pointed at."""
        if (yield from self._waiting.counts_late(said)) or (yield from self._adder.refuses(clause, said)):
            return True
        return self._only_points(clause, said)

    def _only_points(self, clause: Clause, said: Said) -> bool:
        """ "Of those two, ..."."""
        led = bool(said.words) and said.words[0] in self._words.partitive
        led = led and said.number is not None and not clause.names
        return led and self._pointer.points(clause, said)

    def _changes_copy(self, clause: Clause, said: Said) -> bool:
        """ "The same for me, but a small one"."""
        copied = self._tally.copy is not None and self._tally.copy in self._tally.focus
        one = said.number is not None and said.number.value == 1 and said.words[-1] in self._words.ones
        return clause.lead in self._words.contrasting and copied and one and said.item is None

    def _to_line(self, clause: Clause, said: Said, line: Wish) -> Changes:
        """ "The mocha with oat": what is said, to the line that is pointed at."""
        about = self._pointer.about(clause, said, line)
        if not (about.sizes or about.options or about.number):
            yield Topic(line)  # "on the melts, one gets jalapeños"
            return
        yield Focus((line,))
        yield from share(self._tally, (line,), about)
