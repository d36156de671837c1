"""Follow an order clause by clause, as an order taker does: what is added, changed, parted, taken back.

The first reading (`whole/`) looks at all words at once and gives up where one thing speaks of another
("the same again but with soy", "make one of them a large"). Here each clause is heard with the order as it
stands. What comes out is a second account of the words: where the first is not sure, it narrows what the
model may write, and lifts no doubt; where the first is sure and this one differs, that is a doubt.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from enum import Enum, auto
from itertools import zip_longest

from schemas.menu import Menu
from services.reading.chart.mentions import names_of
from services.reading.chart.span import Span as Mention
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.clauses.adding import Adder
from services.reading.clauses.asking import Asker
from services.reading.clauses.assigning import Assigner
from services.reading.clauses.clause import Clause, clauses
from services.reading.clauses.content import Said
from services.reading.clauses.cues import Cue
from services.reading.clauses.headings import without_headings
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Lost, Pointer
from services.reading.clauses.repeating import Repeater
from services.reading.clauses.replacing import Replacing
from services.reading.clauses.tally import Tally, Wish
from services.reading.clauses.undoing import Undoer
from services.reading.clauses.unlisted import Unlisted
from services.reading.names.lexicon import Lexicon
from services.reading.values.numbers import find_numbers, pieces

# Told of each clause with the order as it then stands; with None where the clause can't be followed.
Watch = Callable[[Clause, list[Wish] | None], None]


def follow(
    text: str,
    tokens: Utterance,
    mentions: list[Mention],
    settled: list[Mention],
    odd: list[int],
    menu: Menu,
    lexicon: Lexicon,
    watch: Watch | None = None,
) -> list[Wish] | None:
    """The order as it was said, line by line; None where a clause can't be followed.

    `settled` are those of `mentions` whose reading holds where nothing is changed. `odd` are the positions
    of words that nothing accounts for: led to by a number or article, with no item beside them, they are a
    wish off the menu. `watch` is told of each clause.
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
    for clause, after in zip_longest(heard, heard[1:]):
        try:
            follower.hear(clause, after)
        except Lost:
            if watch is not None:
                watch(clause, None)
            return None
        if watch is not None:
            watch(clause, follower.standing)
    return follower.order()


_NOT_REACHES = 4  # words from "not" to what is denied


class _Act(Enum):
    """What a clause does to the order."""

    ASK = auto()  # "do you have oat milk?"
    CLEAR = auto()  # "cancel all of that"
    SWAP = auto()  # "swap the rings for a salad"
    REFUSE = auto()  # "don't put any foam on it"
    UNDO = auto()  # "not the cheddar", "instead of the fries"
    KEEP = auto()  # "actually, keep the quiche"
    REMOVE = auto()  # "scratch the muffin"
    TELL = auto()  # "a latte", "with oat", "the same again"


class _Follower:
    def __init__(self, listener: Listener) -> None:
        self._listener, self._words = listener, listener.tokens.language
        self._tally = Tally(listener.menu)
        self._pointer = Pointer(listener, self._tally)
        self._repeater = Repeater(listener, self._tally, self._pointer)
        self._adder = Adder(listener, self._tally, self._pointer)
        self._undoer = Undoer(listener, self._tally, self._pointer)
        self._asker = Asker(listener, self._tally, self._pointer)
        self._unlisted = Unlisted(listener, self._tally)
        self._replacing = Replacing(listener.tokens, self._tally)
        self._assigner = Assigner(
            listener, self._tally, self._pointer, self._repeater, self._adder, self._undoer, self._replacing
        )
        self._before: Clause | None = None

    @property
    def standing(self) -> list[Wish]:
        """The lines so far."""
        return self._tally.wishes

    def order(self) -> list[Wish] | None:
        """The lines, if it is clear what each of them is."""
        wishes = without_headings(self._tally, self._listener)
        return None if self._adder.waiting or any(len(w.items) > 1 for w in wishes) else wishes

    def hear(self, clause: Clause, after: Clause | None) -> None:
        """Do to the order what a clause says; `after` is the next one.

        Raises:
            Lost: the clause can't be followed.
        """
        before, self._before = self._before, clause
        if self._passes_over(clause):
            return
        if clause.cue is Cue.NOT and clause.names and clause.names[0].start - clause.body > _NOT_REACHES:
            clause = replace(clause, cue=Cue.NONE)  # "my knees don't like the stairs; one chicken sandwich"
        self._replacing.begins(clause)
        self._adder.restater.begins(clause)
        said = self._listener.said(clause, self._tally, changes=self._replacing.changes(clause))
        act = self._act(clause, said, before)
        if act is not _Act.TELL:
            self._change(act, clause, said)
        elif not said.anything and (off := self._unlisted.listed(clause, before)) is not None:
            self._tally.wishes.append(off)
        else:
            if self._gives_way_later(clause, said, after):
                clause = replace(clause, cue=Cue.NONE)
                self._replacing.settled()
            self._tell(clause, said)

    def _act(self, clause: Clause, said: Said, before: Clause | None) -> _Act:
        """What a clause does, after the one `before` it."""
        if clause.asks:
            return _Act.ASK
        if self._pointer.takes_all_back(clause):
            return _Act.CLEAR
        if clause.cue is Cue.SWAP or self._swaps_on(clause, said, before):
            return _Act.SWAP
        if self._refuses(clause, said, before):
            return _Act.REFUSE
        if clause.cue in (Cue.INSTEAD, Cue.NOT):
            return _Act.UNDO
        if clause.cue is Cue.KEEP:
            return _Act.KEEP
        if clause.cue is Cue.REMOVE or self._removes_on(clause, said, before):
            return _Act.REMOVE
        return _Act.TELL

    def _change(self, act: _Act, clause: Clause, said: Said) -> None:
        """Do any act but to tell."""
        match act:
            case _Act.ASK:
                self._asker.ask(clause, said)
            case _Act.CLEAR:
                self._tally.clear()
                self._adder.forget()
            case _Act.SWAP:
                self._undoer.swap(clause, said)
                self._replacing.settled()
            case _Act.REFUSE:
                if not self._undoer.refuse(clause, said):
                    raise Lost
            case _Act.UNDO:
                here = clause.cue is Cue.INSTEAD
                self._replacing.undone(vacant=self._undoer.undo(said, here=here))
            case _Act.KEEP:
                self._undoer.keep(said)
                self._replacing.settled()
            case _Act.REMOVE:
                stood = self._tally.standing
                found = self._undoer.remove(clause, said)
                self._replacing.removed(said, found=found, fewer=self._tally.standing < stood)

    def _passes_over(self, clause: Clause) -> bool:
        """Whether nothing is ordered by a clause: it tells a tale, or of an allergy, for somebody to read."""
        tokens = self._listener.tokens
        removes = clause.cue is Cue.REMOVE and bool(clause.names)
        ended = clause.end < len(tokens) or tokens[-1].after in SENTENCE_ENDS
        tale = clause.tale and ended and not removes
        return tale or any(t.folded in self._words.allergies for t in tokens[clause.start : clause.end])

    def _goes_on(self, clause: Clause, before: Clause | None, cue: Cue) -> bool:
        """Whether a clause may do what the one before it does, which begins with a cue."""
        if before is None or before.cue is not cue or clause.cue:
            return False
        return clause.lead == "," or clause.lead in self._words.conjunctions

    def _swaps_on(self, clause: Clause, said: Said, before: Clause | None) -> bool:
        """ "Swap the rings for a salad, and the mocha for a cold brew"."""
        goes_on = self._goes_on(clause, before, Cue.SWAP)
        return goes_on and len(clause.names) > 1 and said.has(self._words.exchanging)

    def _refuses(self, clause: Clause, said: Said, before: Clause | None) -> bool:
        """ "Don't put any foam on it"; "everything on it, except cucumber"."""
        if clause.cue is Cue.NOT and said.has(self._words.wishing):
            return True
        if clause.lead not in self._words.excepting:
            return False
        return self._tally.held(self._tally.focus, said.options) or self._everything(before)

    def _everything(self, clause: Clause | None) -> bool:
        """Whether all that there is was just wished for: "everything on it"."""
        tokens = self._listener.tokens[clause.start : clause.end] if clause is not None else []
        return any(token.folded in self._words.of_everything for token in tokens)

    def _removes_on(self, clause: Clause, said: Said, before: Clause | None) -> bool:
        """ "Lose the bread, and one of the fries"; "and the lemonade should be large" takes nothing back."""
        if not self._goes_on(clause, before, Cue.REMOVE):
            return False
        if self._pointer.some(clause) is not None and said.item is not None:
            return True
        named = bool(said.words) and said.words[0] in self._words.definite_articles
        return named and not said.sizes and not said.options

    def _gives_way_later(self, clause: Clause, said: Said, after: Clause | None) -> bool:
        """ "Make it cheddar, instead of the swiss": what goes is still to come."""
        follows = after is not None and after.cue is Cue.INSTEAD
        return clause.cue is Cue.REPLACE and follows and bool(said.options)

    def _tell(self, clause: Clause, said: Said) -> None:
        """Order what a clause says, or say it of what was ordered.

        Raises:
            Lost: it can't be followed.
        """
        replaces = self._replacing.replaces(clause, said)
        if self._asker.adopt(clause, said):
            self._replacing.settled()
        elif off := self._unlisted.wish(clause, said):
            self._unlisted.add(off, replaces=replaces)
            self._replacing.settled()
        elif not said.anything:
            self._tell_without_values(clause, said)
        elif said.leaves_open(self._words):
            raise Lost
        elif not said.finds_fault(self._words):
            self._replacing.settled()
            self._assigner.assign(clause, said, replaces=replaces)
            self._asker.take_up(said)
            self._replacing.filled()
            if (extra := self._unlisted.beside(clause)) is not None:
                self._tally.wishes.append(extra)

    def _tell_without_values(self, clause: Clause, said: Said) -> None:
        """ "The same size", "the same again", "on the first, ...": no value is named."""
        self._replacing.waits(clause)
        if (size := self._repeater.same_size(said)) is not None:
            self._adder.same_size(size)
            return
        ordinal = not self._words.ordinals.keys().isdisjoint(said.words)
        target = self._pointer.refers(clause, said) if ordinal else None
        if target is not None:
            self._tally.focus = [target]  # "on the first, avocado and spinach"
        else:
            self._repeater.again(clause, said)
