"""What takes the place of what was said before it: after "no, make that", after "forget the bread", after
"the same but with".

A word of taking back and what takes its place may stand in different clauses ("wait, sorry, a large one"), so
what the one leaves behind is expected of the next.
"""

from __future__ import annotations

from dataclasses import replace

from services.reading.chart.tokens import Utterance
from services.reading.clauses.changes import Changes, Expect
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.cues import Cue
from services.reading.clauses.tally import Expected, Tally


class Replacing:
    """Tells what is still to come in the place of something."""

    def __init__(self, tokens: Utterance, tally: Tally) -> None:
        self._tokens, self._tally = tokens, tally
        self._language = tokens.language

    @property
    def _expected(self) -> Expected:
        return self._tally.expected

    def begins(self, clause: Clause) -> Changes:
        """What the way in which a clause begins means for it and the next."""
        language, known = self._language, self._expected
        cue = self._tokens[clause.start : clause.body] if clause.cue is Cue.REPLACE else []
        strong = (known.strong and known.pending) or any(t.folded not in language.weak_cues for t in cue)
        goes_on = clause.lead in language.conjunctions or clause.lead == ","
        varies = clause.lead in language.turning or (known.varies and goes_on)
        if (strong, varies) != (known.strong, known.varies):
            yield Expect(replace(known, strong=strong, varies=varies))

    def changes(self, clause: Clause) -> bool:
        """Whether a name that may be an item or a choice is rather a choice of what stands."""
        known = self._expected
        return known.pending or known.vacant or known.varies or clause.cue is Cue.REPLACE

    def replaces(self, clause: Clause, said: Said) -> bool:
        """Whether what a clause says takes the place of what was said last."""
        joined = clause.lead in self._language.conjunctions
        replaces = (self._expected.pending and not joined) or clause.cue is Cue.REPLACE
        # "Forget the bread, make it the sticks": the bread is gone, and nothing else has to go.
        return replaces and not (self._expected.freed and said.item and not self._tally.of_item(said.skus))

    def settled(self) -> Changes:
        """What was to take a place was said, or nothing was."""
        if self._expected.pending:
            yield Expect(replace(self._expected, pending=False))

    def waits(self, clause: Clause) -> Changes:
        """Nothing was said by a clause: "no, make that, um, ..."."""
        pending = clause.cue is Cue.REPLACE or (self._expected.pending and clause.lead in ("", ","))
        yield Expect(replace(self._expected, pending=pending))

    def undone(self, *, vacant: bool) -> Changes:
        """ "Not the cheddar": `vacant` where the option was wished for, and another may be."""
        yield Expect(replace(self._expected, pending=False, vacant=vacant))

    def removed(self, said: Said, *, found: bool, fewer: bool) -> Changes:
        """ "Scratch the muffin": `found` where it is clear what is taken back, `fewer` where less stands
        now."""
        pending = not found or (self._expected.pending and not said.anything)
        vacant = fewer and bool(said.options) and said.item is None
        yield Expect(replace(self._expected, pending=pending, freed=fewer, vacant=vacant))

    def filled(self) -> Changes:
        """What was free is taken."""
        if self._expected.vacant or self._expected.freed:
            yield Expect(replace(self._expected, vacant=False, freed=False))
