"""Follow an order clause by clause, as an order taker does: what is added, changed, parted, taken back.

The first reading (`reading.py`) looks at all words at once and gives up where one thing speaks of another
("the same again but with soy", "make one of them a large"). Here each clause is heard with the order as it
stands. What comes out is a second account of the words: where the first is not sure, it narrows what the
model may write, and lifts no doubt; where the first is sure and this one differs, that is a doubt.
"""

from __future__ import annotations

from dataclasses import replace
from itertools import zip_longest

from schemas.cart import Amount
from schemas.evidence import Mention
from schemas.menu import Menu
from services.pipeline.adding import Adder
from services.pipeline.asking import Asker
from services.pipeline.clauses import Clause, clauses
from services.pipeline.english import AND
from services.pipeline.headings import without_headings
from services.pipeline.lexicon import Lexicon
from services.pipeline.names import names_of, phrase_end
from services.pipeline.parting import Parter
from services.pipeline.pointing import Lost, Pointer
from services.pipeline.quantifiers import find_numbers, pieces
from services.pipeline.tally import Tally, Wish
from services.pipeline.told import Listener, Said
from services.pipeline.turns import ADDING, ENOUGH, ORDINALS, OTHER_WAY, THE_OTHER, WEAK_CUES, WISHING
from services.pipeline.undoing import Undoer
from services.pipeline.unlisted import Unlisted
from services.pipeline.words import PAUSES, SENTENCE_ENDS, Token


def follow(
    text: str,
    tokens: list[Token],
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
    mentions = [m for m in mentions if (m.start, m.end) in places]
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
        self._adder = Adder(listener, self._tally, self._pointer)
        self._parter = Parter(listener, self._tally, self._pointer)
        self._undoer = Undoer(listener, self._tally, self._pointer)
        self._asker = Asker(listener, self._tally, self._pointer)
        self._unlisted = Unlisted(listener, self._tally)
        self._pending = False  # a word of taking back was said, and not yet what takes its place
        self._strong = False  # that word can only mean so ("scratch that"; "wait" may add something)
        self._vacant = False  # an option was taken back, for another
        self._freed = False  # a line was taken back, and its place is free
        self._varies = False  # what differs is being told: "the same but with tots and a cola"
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
        self._note(clause)
        changes = self._pending or self._vacant or self._varies or clause.cue == "replace"
        said = self._listener.said(clause, self._tally, changes=changes)
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
            self._pending = False
        elif (clause.cue == "not" and WISHING & set(said.words)) or (
            clause.lead == "except"
            and (self._tally.held(self._tally.focus, said.options) or self._everything(before))
        ):
            if not self._undoer.refuse(clause, said):
                raise Lost
        elif clause.cue in ("instead", "not"):
            self._vacant = self._undoer.undo(said, here=clause.cue == "instead")
            self._pending = False
        elif clause.cue == "keep":
            self._undoer.keep(said)
            self._pending = False
        elif clause.cue == "remove" or (goes_on and _removes(before) and self._only_names(clause, said)):
            pending, self._pending = self._pending, False
            held = self._held()
            self._pending = not self._undoer.remove(clause, said) or (pending and not said.anything)
            self._freed = self._held() < held
            self._vacant = self._freed and bool(said.options) and said.item is None
        elif not said.anything and (off := self._unlisted.listed(clause, before)) is not None:
            self._tally.wishes.append(off)
        else:
            if clause.cue == "replace" and after is not None and after.cue == "instead" and said.options:
                clause = replace(clause, cue="")  # what goes is still to come
                self._pending = False
            self._tell(clause, said)

    def _passes_over(self, clause: Clause) -> bool:
        """Whether nothing is ordered by a clause: it tells a tale, or of an allergy, for somebody to read."""
        tokens = self._listener.tokens
        removes = clause.cue == "remove" and bool(clause.names)
        ended = clause.end < len(tokens) or tokens[-1].after in SENTENCE_ENDS
        tale = clause.tale and ended and not removes
        return tale or any(token.folded in _ALLERGIES for token in tokens[clause.start : clause.end])

    def _note(self, clause: Clause) -> None:
        """Remember what the way in which a clause begins means for it and the next."""
        tokens = self._listener.tokens
        cue = tokens[clause.start : clause.body] if clause.cue == "replace" else []
        self._strong = (self._strong and self._pending) or any(t.folded not in WEAK_CUES for t in cue)
        if any(phrase_end(tokens, i, OTHER_WAY) for i in range(clause.start, clause.end)):
            self._adder.restater.anew = True
        self._varies = clause.lead in ("but", "except") or (self._varies and clause.lead in ("and", ","))

    def _everything(self, clause: Clause | None) -> bool:
        """Whether all that there is was just wished for: "everything on it, except cucumber"."""
        tokens = self._listener.tokens[clause.start : clause.end] if clause is not None else []
        return any(token.folded == "everything" for token in tokens)

    def _held(self) -> int:
        """How many lines and options stand."""
        return sum(1 + len(wish.options) for wish in self._tally.wishes)

    def _only_names(self, clause: Clause, said: Said) -> bool:
        """ "Lose the bread, and one of the fries"; "and the lemonade should be large" takes nothing back."""
        one = self._pointer.some(clause) is not None and said.item is not None
        return one or (said.words[:1] == ("the",) and not said.sizes and not said.options)

    def _tell(self, clause: Clause, said: Said) -> None:
        replaces = (self._pending and clause.lead not in AND) or clause.cue == "replace"
        # "Forget the bread, make it the sticks": the bread is gone, and nothing else has to go.
        replaces = replaces and not (self._freed and said.item and not self._tally.of_item(said.skus))
        if self._asker.adopt(clause, said):
            self._pending = False
        elif off := self._unlisted.wish(clause, said):
            self._unlisted.add(off, replaces=replaces)
            self._pending = False
        elif not said.anything:
            self._pending = clause.cue == "replace" or (self._pending and clause.lead in ("", ","))
            if (size := self._pointer.same_size(said)) is not None:
                self._adder.same_size(size)
                return
            target = self._pointer.refers(clause, said) if ORDINALS.keys() & set(said.words) else None
            if target is not None:
                self._tally.focus = [target]  # "on the first, avocado and spinach"
            else:
                self._pointer.again(clause, said)
        elif _leaves_open(said):
            raise Lost  # "oat milk or soy", "a latte or a mocha"
        elif said.words[:1] == ("that",) and "too" in said.words and said.item is None:
            return  # "that's too much cheese"
        else:
            self._pending = False
            self._value(clause, said, replaces=replaces)
            self._asker.take_up(said)
            self._vacant = self._freed = False
            if (extra := self._unlisted.beside(clause)) is not None:
                self._tally.wishes.append(extra)

    def _value(self, clause: Clause, said: Said, *, replaces: bool) -> None:
        late = self._adder.uncounted
        if late is not None and said.item is None and said.number is not None:
            late.quantity, self._adder.uncounted = said.number.value, None
            self._tally.focus_on(late)
            self._pointer.give([late], said)
            return
        if self._adder.refuses(clause, said):
            return
        if (
            said.words[:1] == ("of",)
            and said.number
            and not clause.names
            and self._pointer.points(clause, said)
        ):
            return  # "of those two, ..."
        turned = self._adder.turned(said)
        if self._parter.becomes(clause, said, turned):
            return
        target = self._pointer.refers(clause, said)
        if target is not None:
            about = self._pointer.about(clause, said, target)
            if not (about.sizes or about.options or about.number):
                self._tally.focus_on(target)  # "on the melts, one gets jalapeños"
                return
            self._tally.focus = [target]
            self._pointer.give([target], about)
        elif self._pointer.again(clause, said):
            return
        elif turned and said.number is None:
            for wish in self._pointer.every(clause, said) or self._tally.focus:
                wish.items = turned
            self._pointer.give(self._tally.focus, said)
        elif said.item is not None:
            more = bool(set(said.words) & ADDING) and "instead" not in said.words and not self._strong
            self._adder.item(clause, said, replaces=replaces and not more)
        elif not self._tally.wishes:
            self._adder.early(said, replaces=replaces)
        elif said.number is not None and _counts_anew(clause, said, replaces=replaces):
            self._tally.focus[-1].quantity = said.number.value
        else:
            if "instead" in said.words and not self._freed:
                self._undoer.give_way(said)
            elif replaces and not _refused(said):
                self._undoer.unsay(said)
            self._parter.part(clause, said)


def _refused(said: Said) -> bool:
    return all(o.amounts == (Amount.NONE,) for choices in said.options for o in choices)


def _leaves_open(said: Said) -> bool:
    several = len(said.sizes) + len(said.options) > 1 or "or" in (said.words[0], said.words[-1])
    return "or" in said.words and several and not (said.options and _refused(said))


def _swaps(clause: Clause | None) -> bool:
    return clause is not None and clause.cue == "swap"


def _removes(clause: Clause | None) -> bool:
    return clause is not None and clause.cue == "remove"


def _counts_anew(clause: Clause, said: Said, *, replaces: bool) -> bool:
    """ "Churros for the kids, two orders": a number alone."""
    bare = not (said.sizes or said.options or set(said.words) & THE_OTHER)
    just = bool({"just", "only"} & set(said.words)) and len(said.words) <= 4
    of_them = said.words[1:] in (("of", "them"), ("of", "those"), ("of", "em"))
    short = clause.lead in PAUSES and (len(said.words) <= 2 or just or of_them)
    return bare and (replaces or short or bool(ENOUGH & set(said.words)))
