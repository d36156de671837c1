"""Lines that are ordered already and are named again: to be changed, counted anew or only repeated."""

from __future__ import annotations

from dataclasses import replace

from services.reading.chart.mentions import phrase_end
from services.reading.clauses.changes import Answer, Changes, Expect, Topic
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.language import Language


class Restater:
    """Tells whether an item that is named is one that stands already."""

    def __init__(self, listener: Listener, tally: Tally) -> None:
        self._tokens, self._tally = listener.tokens, tally
        self._language = listener.tokens.language

    def begins(self, clause: Clause) -> Changes:
        """ "No, other way round": what follows was ordered before."""
        other_way = self._language.other_way
        if any(phrase_end(self._tokens, i, other_way) for i in range(clause.start, clause.end)):
            yield from self._anew(True)

    def _anew(self, anew: bool) -> Changes:
        if anew != self._tally.expected.anew:
            yield Expect(replace(self._tally.expected, anew=anew))

    def line(
        self, clause: Clause, said: Said, counted: bool, *, several: bool, replaces: bool, early: bool
    ) -> Answer[Wish | None]:
        """The line that is meant, which is then what is spoken of; None for one more. `counted` by a number
        or article, `several` by a plural without one; `early` tells that something waits for an item."""
        known = self._tally.of_item(said.skus)
        if not known:
            yield from self._anew(False)
            return None
        last = self._tally.wishes[-1]
        if last in known and (replaces or _again(clause, said, last, counted=counted)):
            return (yield from _speaks_of(last))
        if len(known) == 1 and not early and self._describes(clause, said, counted=counted):
            return (yield from _speaks_of(known[0]))
        anew = (self._tally.expected.anew or replaces) and self._numbered(clause, said)
        yield from self._anew(anew)
        if last in known and _exactly(clause, said, last, counted=counted):
            return last
        if anew or several or self._recounts(said, replaces=replaces):
            return (yield from _speaks_of(known[0]))
        return None

    def _numbered(self, clause: Clause, said: Said) -> bool:
        """ "One coke, two sprites and three teas": whether a number begins a line of a list, or an order."""
        joined = clause.lead in self._language.conjunctions
        return said.number is not None and (joined or clause.lead in ("", ","))

    def _describes(self, clause: Clause, said: Said, *, counted: bool) -> bool:
        """ "A veggie burger and a cola. Veggie burger on brioche", "and my cola should be large"."""
        if clause.lead == "." and said.options and not counted:
            return True
        language = self._language
        owned = said.item is not None and self._tokens[said.item.start - 1].folded in language.speakers
        return owned and bool(language.describing & set(said.words))

    def _recounts(self, said: Said, *, replaces: bool) -> bool:
        """ "So that's four burgers", "one brownie is enough", "two'll do"; "no, two burgers"."""
        if said.number is None or replaces:
            return said.number is not None
        language, at = self._language, said.number.start
        before = tuple(token.folded for token in self._tokens[max(at - 2, 0) : at])
        if _only(before, said, language) or language.enough & set(said.words):
            return True
        return said.words[-1] in language.suffices or bool(before and before[-1] in language.summing)


def _speaks_of(line: Wish) -> Answer[Wish]:
    yield Topic(line)
    return line


def _only(before: tuple[str, ...], said: Said, language: Language) -> bool:
    """ "Just the one bowl then", "only one bowl", by the two words `before` the number."""
    if len(before) == 2 and before[1] in language.definite_articles:
        return before[0] in language.only
    bare = not (said.options or said.sizes)
    return bare and bool(before) and before[-1] in language.only


def _again(clause: Clause, said: Said, last: Wish, *, counted: bool) -> bool:
    """Whether the line that was named last is only named again."""
    return _corrects(clause, said, last) or _says_again(clause, said, last, counted=counted)


def _corrects(clause: Clause, said: Said, last: Wish) -> bool:
    """ "Two brownies, one brownie": the number of what was named last."""
    bare = said.number is not None and not (said.options or said.sizes or last.options or last.size)
    return bare and clause.lead in ("", ",")


def _exactly(clause: Clause, said: Said, last: Wish, *, counted: bool) -> bool:
    """ "Wait, Diet Coke. Large Diet Coke"."""
    return clause.lead == "." and said.sizes == (last.size,) and not (counted or said.options)


def _says_again(clause: Clause, said: Said, last: Wish, *, counted: bool) -> bool:
    """ "The nugget meal, the kids nugget meal": the same line, of which nothing was said at first."""
    bare = not last.options and (last.size is None or last.size not in said.sizes)
    return bare and clause.lead in (",", ".") and not counted
