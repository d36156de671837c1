"""Follow an order clause by clause, as an order taker does: what is added, changed, parted, taken back.

The first reading (`whole/`) looks at all words at once and gives up where one thing speaks of another
("the same again but with soy", "make one of them a large"). Here each clause is heard with the order as it
stands. What comes out is a second account of the words: where the first is not sure, it narrows what the
model may write, and lifts no doubt; where the first is sure and this one differs, that is a doubt.

The way of the words: they are cut into clauses (`clause.py`, `segmentation/`); what each says (`listener.py`)
and does (`acts.py`) leads to a maker (`makers/`), which yields changes (`changes.py`); the reducer
(`reducer.py`) applies them to the tally (`tally.py`), and nothing else changes it.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Protocol

from schemas.menu import Menu
from services.reading.chart.mentions import names_of
from services.reading.chart.span import Span
from services.reading.chart.tokens import Utterance
from services.reading.clauses.acts import Act, Acts
from services.reading.clauses.changes import Change, Changes
from services.reading.clauses.clause import Clause, Lost, clauses
from services.reading.clauses.content import Said
from services.reading.clauses.cues import Cue
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.asking import Asker
from services.reading.clauses.makers.headings import headings
from services.reading.clauses.makers.replacing import Replacing
from services.reading.clauses.makers.restating import Restater
from services.reading.clauses.makers.swapping import Swapper
from services.reading.clauses.makers.telling import Teller
from services.reading.clauses.makers.undoing import Undoer
from services.reading.clauses.makers.waiting import Waiting
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.reducer import apply
from services.reading.clauses.tally import Tally, Wish
from services.reading.names.lexicon import Lexicon
from services.reading.values.numbers import find_numbers, pieces


class Watch(Protocol):
    """Told of what is done to an order, while it is done."""

    def change(self, change: Change) -> None:
        """A change that is about to be applied."""

    def clause(self, clause: Clause, wishes: list[Wish] | None) -> None:
        """A clause, with the order as it then stands; with None where the clause can't be followed."""


def follow(
    text: str,
    tokens: Utterance,
    mentions: list[Span],
    settled: list[Span],
    odd: list[int],
    menu: Menu,
    lexicon: Lexicon,
    watch: Watch | None = None,
) -> list[Wish] | None:
    """The order as it was said, line by line; None where a clause can't be followed.

    `settled` are those of `mentions` whose reading holds where nothing is changed. `odd` are the positions
    of words that nothing accounts for: led to by a number or article, with no item beside them, they are a
    wish off the menu. `watch` is told of each change and each clause.
    """
    places = {(m.start, m.end) for m in settled}
    known = {(m.start, m.end) for m in mentions}
    joined = [m for m in settled if (m.start, m.end) not in known]
    mentions = [*(m for m in mentions if (m.start, m.end) in places), *joined]
    taken = {i for n in names_of(tokens, mentions) for i in range(n.start, n.end)}
    numbers, sizes = pieces(tokens, list(find_numbers(tokens, taken, settled, menu)), settled, menu)
    listener = Listener(tokens, [*settled, *sizes], numbers, frozenset(odd), menu, lexicon)
    follower = _Follower(listener)
    heard = clauses(text, tokens, names_of(tokens, [*mentions, *sizes]), odd)
    for before, clause, after in zip([None, *heard], heard, [*heard[1:], None], strict=False):
        try:
            for change in follower.changes(clause, before, after):
                if watch is not None:
                    watch.change(change)
                apply(follower.tally, change)
        except Lost:
            if watch is not None:
                watch.clause(clause, None)
            return None
        if watch is not None:
            watch.clause(clause, [*follower.tally.wishes])
    return follower.order()


class _Follower:
    """Tells for each clause which changes it comes to."""

    def __init__(self, listener: Listener) -> None:
        self.tally = Tally(listener.menu)
        self._listener = listener
        pointer = Pointer(listener, self.tally)
        self._acts = Acts(listener, self.tally, pointer)
        self._teller = Teller(listener, self.tally, pointer)
        self._asker = Asker(listener, self.tally, pointer)
        self._undoer = Undoer(self.tally, pointer)
        self._swapper = Swapper(listener, self.tally, pointer)
        self._replacing = Replacing(listener.tokens, self.tally)
        self._restater = Restater(listener, self.tally)
        self._waiting = Waiting(self.tally)

    def order(self) -> list[Wish] | None:
        """The lines, if it is clear what each of them is."""
        wishes, expected = self.tally.wishes, self.tally.expected
        waiting = any(said.options for said in expected.early) or expected.uncounted in wishes
        return None if waiting or any(len(wish.items) > 1 for wish in wishes) else [*wishes]

    def changes(self, clause: Clause, before: Clause | None, after: Clause | None) -> Changes:
        """What a clause does to the order, between the one `before` it and the one `after`.

        Raises:
            Lost: the clause can't be followed.
        """
        if not self._acts.passes_over(clause):
            yield from self._heard(clause, before, after)
        if after is None:
            yield from headings(self.tally, self._listener)

    def _heard(self, clause: Clause, before: Clause | None, after: Clause | None) -> Changes:
        if self._acts.denies_nothing(clause):
            clause = replace(clause, cue=Cue.NONE)
        yield from self._replacing.begins(clause)
        yield from self._restater.begins(clause)
        said = self._listener.said(clause, self.tally, changes=self._replacing.changes(clause))
        act = self._acts.of(clause, said, before)
        if act is Act.TELL:
            gives_way = self._acts.gives_way_later(clause, said, after)
            clause = replace(clause, cue=Cue.NONE) if gives_way else clause
            yield from self._teller.tell(clause, said, before, gives_way=gives_way)
        else:
            yield from self._changed(act, clause, said)

    def _changed(self, act: Act, clause: Clause, said: Said) -> Changes:
        """What any act comes to but to tell."""
        match act:
            case Act.ASK:
                yield from self._asker.ask(clause, said)
            case Act.CLEAR:
                yield from self._undoer.clear()
                yield from self._waiting.forget()
            case Act.SWAP:
                yield from self._swapper.swap(clause, said)
                yield from self._replacing.settled()
            case Act.REFUSE:
                if not (yield from self._undoer.refuse(clause, said)):
                    raise Lost
            case Act.UNDO:
                vacant = yield from self._undoer.undo(said, here=clause.cue is Cue.INSTEAD)
                yield from self._replacing.undone(vacant=vacant)
            case Act.KEEP:
                yield from self._undoer.keep(said)
                yield from self._replacing.settled()
            case Act.REMOVE:
                stood = self.tally.standing
                found = yield from self._undoer.remove(clause, said)
                fewer = self.tally.standing < stood
                yield from self._replacing.removed(said, found=found, fewer=fewer)
