"""Follow an order clause by clause, as an order taker does: what is added, changed, parted, taken back.

The first reading (`reading.py`) looks at all words at once and gives up where one thing speaks of another
("the same again but with soy", "make one of them a large"). Here each clause is heard with the order as it
stands. What comes out is a second account of the words: where the first is not sure, it narrows what the
model may write, and lifts no doubt; where the first is sure and this one differs, that is a doubt.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from schemas.evidence import Mention
from schemas.menu import Menu
from services.reading.chart.mentions import names_of
from services.reading.chart.tokens import SENTENCE_ENDS, Utterance
from services.reading.clauses.adding import Adder
from services.reading.clauses.asking import Asker
from services.reading.clauses.assigning import Assigner
from services.reading.clauses.clause import Clause, clauses
from services.reading.clauses.content import Said
from services.reading.clauses.headings import without_headings
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Lost, Pointer
from services.reading.clauses.repeating import Repeater
from services.reading.clauses.replacing import Replacing
from services.reading.clauses.tally import Tally, Wish
from services.reading.clauses.undoing import Undoer
from services.reading.clauses.unlisted import Unlisted
from services.reading.language.turns import ORDINALS, WISHING
from services.reading.names.lexicon import Lexicon
from services.reading.values.numbers import find_numbers, pieces


def follow(
    text: str,
    tokens: Utterance,
    mentions: list[Mention],
    settled: list[Mention],
    odd: list[int],
    menu: Menu,
    lexicon: Lexicon,
) -> list[Wish] | None:
    """The order as told, line by line; None where a clause can't be followed.

    `settled` are those of `mentions` whose reading holds where nothing is changed. `odd` are the positions
    of words that nothing accounts for: led to by a number or article, with no item beside them, they are a
    wish off the menu.
    """
    places = {(m.start, m.end) for m in settled}
    known = {(m.start, m.end) for m in mentions}
    joined = [m for m in settled if (m.start, m.end) not in known]
    mentions = [*(m for m in mentions if (m.start, m.end) in places), *joined]
    taken = {i for n in names_of(tokens, mentions) for i in range(n.start, n.end)}
    numbers, sizes = pieces(tokens, list(find_numbers(tokens, taken, settled, menu)), settled, menu)
    listener = Listener(tokens, [*settled, *sizes], numbers, frozenset(odd), menu, lexicon)
    follower = _Follower(listener)
    try:
        heard = clauses(text, tokens, names_of(tokens, [*mentions, *sizes]), odd)
        for clause, after in zip_longest(heard, heard[1:]):
            follower.hear(clause, after)
    except Lost:
        return None
    return follower.order()


_ALLERGIES = frozenset("allergic allergy".split())
_NOT_REACHES = 4  # words from "not" to what is denied


class _Follower:
    def __init__(self, listener: Listener) -> None:
        self._listener = listener
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
        if clause.cue == "not" and clause.names and clause.names[0].start - clause.body > _NOT_REACHES:
            clause = replace(clause, cue="")  # "my knees don't like the stairs; one chicken sandwich"
        self._replacing.begins(clause)
        self._adder.restater.begins(clause)
        said = self._listener.said(clause, self._tally, changes=self._replacing.changes(clause))
        goes_on = before is not None and not clause.cue and clause.lead in ("and", ",")
        if clause.asks:
            self._asker.ask(clause, said)
        elif self._pointer.takes_all_back(clause):
            self._tally.clear()
            self._adder.forget()
        elif clause.cue == "swap" or (
            goes_on and _swaps(before) and len(clause.names) > 1 and "for" in said.words
        ):
            self._undoer.swap(clause, said)
            self._replacing.settled()
        elif (clause.cue == "not" and WISHING & set(said.words)) or (
            clause.lead == "except"
            and (self._tally.held(self._tally.focus, said.options) or self._everything(before))
        ):
            if not self._undoer.refuse(clause, said):
                raise Lost
        elif clause.cue in ("instead", "not"):
            self._replacing.undone(vacant=self._undoer.undo(said, here=clause.cue == "instead"))
        elif clause.cue == "keep":
            self._undoer.keep(said)
            self._replacing.settled()
        elif clause.cue == "remove" or (goes_on and _removes(before) and self._only_names(clause, said)):
            stood = self._tally.standing
            found = self._undoer.remove(clause, said)
            self._replacing.removed(said, found=found, fewer=self._tally.standing < stood)
        elif not said.anything and (off := self._unlisted.listed(clause, before)) is not None:
            self._tally.wishes.append(off)
        else:
            if clause.cue == "replace" and after is not None and after.cue == "instead" and said.options:
                clause = replace(clause, cue="")  # what goes is still to come
                self._replacing.settled()
            self._tell(clause, said)

    def _passes_over(self, clause: Clause) -> bool:
        """Whether nothing is ordered by a clause: it tells a tale, or of an allergy, for somebody to read."""
        tokens = self._listener.tokens
        removes = clause.cue == "remove" and bool(clause.names)
        ended = clause.end < len(tokens) or tokens[-1].after in SENTENCE_ENDS
        tale = clause.tale and ended and not removes
        return tale or any(token.folded in _ALLERGIES for token in tokens[clause.start : clause.end])

    def _everything(self, clause: Clause | None) -> bool:
        """Whether all that there is was just wished for: "everything on it, except cucumber"."""
        tokens = self._listener.tokens[clause.start : clause.end] if clause is not None else []
        return any(token.folded == "everything" for token in tokens)

    def _only_names(self, clause: Clause, said: Said) -> bool:
        """ "Lose the bread, and one of the fries"; "and the lemonade should be large" takes nothing back."""
        one = self._pointer.some(clause) is not None and said.item is not None
        return one or (said.words[:1] == ("the",) and not said.sizes and not said.options)

    def _tell(self, clause: Clause, said: Said) -> None:
        replaces = self._replacing.replaces(clause, said)
        if self._asker.adopt(clause, said):
            self._replacing.settled()
        elif off := self._unlisted.wish(clause, said):
            self._unlisted.add(off, replaces=replaces)
            self._replacing.settled()
        elif not said.anything:
            self._replacing.waits(clause)
            if (size := self._repeater.same_size(said)) is not None:
                self._adder.same_size(size)
                return
            target = self._pointer.refers(clause, said) if ORDINALS.keys() & set(said.words) else None
            if target is not None:
                self._tally.focus = [target]  # "on the first, avocado and spinach"
            else:
                self._repeater.again(clause, said)
        elif said.leaves_open(self._listener.tokens.language):
            raise Lost
        elif said.finds_fault(self._listener.tokens.language):
            return
        else:
            self._replacing.settled()
            self._assigner.assign(clause, said, replaces=replaces)
            self._asker.take_up(said)
            self._replacing.filled()
            if (extra := self._unlisted.beside(clause)) is not None:
                self._tally.wishes.append(extra)


def _swaps(clause: Clause | None) -> bool:
    return clause is not None and clause.cue == "swap"


def _removes(clause: Clause | None) -> bool:
    return clause is not None and clause.cue == "remove"
