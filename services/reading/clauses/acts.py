"""What sort of thing a clause does to an order: it asks, takes back, swaps, orders. By its cue and its words;
the makers then tell which changes that comes to."""

from __future__ import annotations

from enum import Enum, auto

from services.reading.chart.mentions import phrase_end
from services.reading.chart.tokens import SENTENCE_ENDS
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.cues import Cue
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally

_NOT_REACHES = 4  # words from "not" to what is denied


class Act(Enum):
    """What a clause does to the order."""

    ASK = auto()  # "do you have oat milk?"
    CLEAR = auto()  # "cancel all of that"
    SWAP = auto()  # "swap the rings for a salad"
    REFUSE = auto()  # "don't put any foam on it"
    UNDO = auto()  # "not the cheddar", "instead of the fries"
    KEEP = auto()  # "actually, keep the quiche"
    REMOVE = auto()  # "scratch the muffin"
    TELL = auto()  # "a latte", "with oat", "the same again"


class Acts:
    """Tells what clauses do."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._words = listener.tokens, listener.tokens.language
        self._tally, self._pointer = tally, pointer

    def passes_over(self, clause: Clause) -> bool:
        """Whether nothing is ordered by a clause: it tells a tale, or of an allergy, for somebody to read."""
        tokens = self._tokens
        removes = clause.cue is Cue.REMOVE and bool(clause.names)
        ended = clause.end < len(tokens) or tokens[-1].after in SENTENCE_ENDS
        tale = clause.tale and ended and not removes
        return tale or any(t.folded in self._words.allergies for t in tokens[clause.start : clause.end])

    def denies_nothing(self, clause: Clause) -> bool:
        """ "My knees don't like the stairs; one chicken sandwich": whether a "not" is too far from a name."""
        first = clause.names[0].start if clause.names else clause.body
        return clause.cue is Cue.NOT and first - clause.body > _NOT_REACHES

    def of(self, clause: Clause, said: Said, before: Clause | None) -> Act:
        """What a clause does, after the one `before` it."""
        if clause.asks:
            return Act.ASK
        if self._takes_all_back(clause):
            return Act.CLEAR
        if clause.cue is Cue.SWAP or self._swaps_on(clause, said, before):
            return Act.SWAP
        if self._refuses(clause, said, before):
            return Act.REFUSE
        if clause.cue in (Cue.INSTEAD, Cue.NOT):
            return Act.UNDO
        if clause.cue is Cue.KEEP:
            return Act.KEEP
        if clause.cue is Cue.REMOVE or self._removes_on(clause, said, before):
            return Act.REMOVE
        return Act.TELL

    def gives_way_later(self, clause: Clause, said: Said, after: Clause | None) -> bool:
        """ "Make it cheddar, instead of the swiss": what goes is still to come."""
        follows = after is not None and after.cue is Cue.INSTEAD
        return clause.cue is Cue.REPLACE and follows and bool(said.options)

    def _takes_all_back(self, clause: Clause) -> bool:
        """ "Cancel all of that", "we don't need anything"."""
        language, at = self._words, range(clause.body, clause.end)
        if any(phrase_end(self._tokens, i, language.all_back) for i in range(clause.start, clause.end)):
            return True
        if clause.cue is Cue.NOT:
            return bool(language.nothing & {t.folded for t in self._tokens[clause.body : clause.end]})
        return clause.cue is Cue.REMOVE and any(phrase_end(self._tokens, i, language.all_of_it) for i in at)

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
        tokens = self._tokens[clause.start : clause.end] if clause is not None else []
        return any(token.folded in self._words.of_everything for token in tokens)

    def _removes_on(self, clause: Clause, said: Said, before: Clause | None) -> bool:
        """ "Lose the bread, and one of the fries"; "and the lemonade should be large" takes nothing back."""
        if not self._goes_on(clause, before, Cue.REMOVE):
            return False
        if self._pointer.some(clause) is not None and said.item is not None:
            return True
        named = bool(said.words) and said.words[0] in self._words.definite_articles
        return named and not said.sizes and not said.options
