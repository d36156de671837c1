"""Whether what a clause says takes the place of what was said before it: after "no, make that", after "forget
the bread", after "the same but with".

A word of taking back and what takes its place may stand in different clauses ("wait, sorry, a large one"), so
what the one leaves behind is kept for the next.
"""

from __future__ import annotations

from services.reading.chart.tokens import Utterance
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.tally import Tally
from services.reading.language.english import AND
from services.reading.language.turns import WEAK_CUES


class Replacing:
    """What is still to come in the place of something. `strong` is a word of taking back that can only mean
    so ("scratch that"; "wait" may add something); `freed` tells that a line was taken back, and its place is
    free."""

    def __init__(self, tokens: Utterance, tally: Tally) -> None:
        self._tokens, self._tally = tokens, tally
        self.strong = False
        self.freed = False
        self._pending = False  # a word of taking back was said, and not yet what takes its place
        self._vacant = False  # an option was taken back, for another
        self._varies = False  # what differs is being told: "the same but with tots and a cola"

    def begins(self, clause: Clause) -> None:
        """Remember what the way in which a clause begins means for it and the next."""
        cue = self._tokens[clause.start : clause.body] if clause.cue == "replace" else []
        self.strong = (self.strong and self._pending) or any(t.folded not in WEAK_CUES for t in cue)
        self._varies = clause.lead in ("but", "except") or (self._varies and clause.lead in ("and", ","))

    def changes(self, clause: Clause) -> bool:
        """Whether a name that may be an item or a choice is rather a choice of what stands."""
        return self._pending or self._vacant or self._varies or clause.cue == "replace"

    def replaces(self, clause: Clause, said: Said) -> bool:
        """Whether what a clause says takes the place of what was said last."""
        replaces = (self._pending and clause.lead not in AND) or clause.cue == "replace"
        # "Forget the bread, make it the sticks": the bread is gone, and nothing else has to go.
        return replaces and not (self.freed and said.item and not self._tally.of_item(said.skus))

    def settled(self) -> None:
        """What was to take a place was said, or nothing was."""
        self._pending = False

    def waits(self, clause: Clause) -> None:
        """Nothing was said by a clause: "no, make that, um, ..."."""
        self._pending = clause.cue == "replace" or (self._pending and clause.lead in ("", ","))

    def undone(self, *, vacant: bool) -> None:
        """ "Not the cheddar": `vacant` where the option was wished for, and another may be."""
        self._pending, self._vacant = False, vacant

    def removed(self, said: Said, *, found: bool, fewer: bool) -> None:
        """ "Scratch the muffin": `found` where it is clear what is taken back, `fewer` where less stands
        now."""
        self._pending = not found or (self._pending and not said.anything)
        self.freed = fewer
        self._vacant = fewer and bool(said.options) and said.item is None

    def filled(self) -> None:
        """What was free is taken."""
        self._vacant = self.freed = False
