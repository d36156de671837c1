"""Where what a clause says goes: to a line that it points at, to one more of the same, to a new line, or to
what was spoken of last."""

from __future__ import annotations

from dataclasses import replace

from services.reading.clauses.adding import Adder
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.parting import Parter
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.repeating import Repeater
from services.reading.clauses.replacing import Replacing
from services.reading.clauses.tally import Tally, Wish
from services.reading.clauses.undoing import Undoer


class Assigner:
    """Decides for each clause that says a value; the others do to the tally what it comes to."""

    def __init__(
        self,
        listener: Listener,
        tally: Tally,
        pointer: Pointer,
        repeater: Repeater,
        adder: Adder,
        undoer: Undoer,
        replacing: Replacing,
    ) -> None:
        self._words = listener.tokens.language
        self._tally, self._pointer, self._repeater = tally, pointer, repeater
        self._adder, self._undoer, self._replacing = adder, undoer, replacing
        self._parter = Parter(listener, tally, pointer)

    def assign(self, clause: Clause, said: Said, *, replaces: bool) -> None:
        """Do to the order what is said of an item, sizes, options or a number; `replaces` what was said last.

        Raises:
            Lost: it can't be told what it is said of.
        """
        if self._is_done(clause, said):
            return
        if self._changes_copy(clause, said):
            said = replace(said, number=None)
        turned = self._adder.turned(said)
        if self._parter.becomes(clause, said, turned):
            return
        target = self._pointer.refers(clause, said)
        if target is not None:
            self._to_line(clause, said, target)
        elif self._parter.lacks(said) or self._repeater.again(clause, said):
            return
        elif turned and said.number is None:
            self._turn(clause, said, turned)
        elif said.item is not None:
            self._adder.item(clause, said, replaces=replaces and not self._adds(said))
        elif not self._tally.wishes:
            self._adder.early(said, replaces=replaces)
        elif said.number is not None and said.counts_anew(clause, self._words, replaces=replaces):
            self._tally.focus[-1].quantity = said.number.value
        else:
            self._to_last(clause, said, replaces=replaces)

    def _turn(self, clause: Clause, said: Said, turned: tuple[str, ...]) -> None:
        """ "Both iced": what is spoken of is another item of the same kind."""
        for wish in self._pointer.every(clause, said) or self._tally.focus:
            wish.items = turned
        self._pointer.give(self._tally.focus, said)

    def _adds(self, said: Said) -> bool:
        """ "Sorry, can I also get a muffin": whether an item joins what stands, and replaces nothing."""
        adds = said.has(self._words.adding) and not said.has(self._words.in_its_place)
        return adds and not self._replacing.strong

    def _to_last(self, clause: Clause, said: Said, *, replaces: bool) -> None:
        """Sizes and options without an item, in the place of what was said last or beside it."""
        if said.has(self._words.in_its_place) and not self._replacing.freed:
            self._undoer.give_way(said)
        elif replaces and not said.refuses:
            self._undoer.unsay(said)
        self._parter.part(clause, said)

    def _is_done(self, clause: Clause, said: Said) -> bool:
        """Whether nothing is left to assign: a number came late, an item is refused, a line pointed at."""
        if self._adder.counts_late(said) or self._adder.refuses(clause, said):
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

    def _to_line(self, clause: Clause, said: Said, target: Wish) -> None:
        """ "The mocha with oat": what is said, to the line that is pointed at."""
        about = self._pointer.about(clause, said, target)
        if not (about.sizes or about.options or about.number):
            self._tally.focus_on(target)  # "on the melts, one gets jalapeños"
            return
        self._tally.focus = [target]
        self._pointer.give([target], about)
