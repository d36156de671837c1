"""Lines that are ordered already and are named again: to be changed, counted anew or only repeated."""

from __future__ import annotations

from services.reading.chart.mentions import phrase_end
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.turns import ENOUGH, OTHER_WAY

_DESCRIBING = frozenset("should is need".split())


class Restater:
    """Tells whether an item that is named is one that stands already. While `anew`, what follows was ordered
    before, in other numbers: "no, other way round: one coke, two sprites"."""

    def __init__(self, listener: Listener, tally: Tally) -> None:
        self._tokens, self._tally = listener.tokens, tally
        self.anew = False

    def begins(self, clause: Clause) -> None:
        """Hear whether what follows was ordered before."""
        if any(phrase_end(self._tokens, i, OTHER_WAY) for i in range(clause.start, clause.end)):
            self.anew = True

    def line(
        self, clause: Clause, said: Said, counted: bool, *, several: bool, replaces: bool, early: bool
    ) -> Wish | None:
        """The line that is meant, which is then what is spoken of; None for one more. `counted` by a number
        or article, `several` by a plural without one; `early` tells that something waits for an item."""
        known = self._tally.of_item(said.skus)
        if not known:
            self.anew = False
            return None
        last = self._tally.wishes[-1]
        if last in known and (
            replaces or _corrects(clause, said, last) or _says_again(clause, said, last, counted)
        ):
            self._tally.focus_on(last)
            return last
        alone = len(known) == 1 and not early and self._describes(clause, said, counted)
        if not alone:
            number = said.number is not None and clause.lead in ("", ",", "and")
            self.anew = number and (self.anew or replaces)
            if last in known and clause.lead == "." and _exactly(said, last, counted):
                return last
        recounted = said.number is not None and (replaces or self._recounts(said))
        if alone or self.anew or several or recounted:
            self._tally.focus_on(known[0])
            return known[0]
        return None

    def _describes(self, clause: Clause, said: Said, counted: bool) -> bool:
        """ "A veggie burger and a cola. Veggie burger on brioche", "and my cola should be large"."""
        told = clause.lead == "." and bool(said.options) and not counted
        owned = said.item is not None and self._tokens[said.item.start - 1].folded == "my"
        return told or (owned and bool(_DESCRIBING & set(said.words)))

    def _recounts(self, said: Said) -> bool:
        """ "So that's four burgers", "one brownie is enough", "two'll do", "just the one bowl then"."""
        at = said.number.start if said.number is not None else 0
        before = [token.folded for token in self._tokens[max(at - 2, 0) : at]]
        only = before in (["just", "the"], ["only", "the"])
        bare = before[-1:] in (["just"], ["only"]) and not (said.options or said.sizes)
        only = only or bare or said.words[-1:] == ("do",)
        return only or before[-1:] in (["that"], ["thats"]) or bool(ENOUGH & set(said.words))


def _corrects(clause: Clause, said: Said, last: Wish) -> bool:
    """ "Two brownies, one brownie": the number of what was named last."""
    bare = said.number is not None and not (said.options or said.sizes or last.options or last.size)
    return bare and clause.lead in ("", ",")


def _exactly(said: Said, last: Wish, counted: bool) -> bool:
    """ "Wait, Diet Coke. Large Diet Coke"."""
    return said.sizes == (last.size,) and not (counted or said.options)


def _says_again(clause: Clause, said: Said, last: Wish, counted: bool) -> bool:
    """ "The nugget meal, the kids nugget meal": the same line, of which nothing was said at first."""
    bare = not last.options and (last.size is None or last.size not in said.sizes)
    return bare and clause.lead in (",", ".") and not counted
