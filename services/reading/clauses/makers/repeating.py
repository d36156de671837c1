"""One more of what was ordered before: "the same again but with soy", "another small one", "same size"."""

from __future__ import annotations

from dataclasses import replace
from itertools import pairwise

from schemas.cart import Amount
from services.reading.chart.mentions import phrase_end
from services.reading.clauses.changes import Answer, Changes, Drop, Repeat, Resize, Share, Split
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said, as_choices
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.sharing import share
from services.reading.clauses.tally import Tally, Wish


class Repeater:
    """Makes the changes of a clause that orders once more what stands already."""

    def __init__(self, listener: Listener, tally: Tally) -> None:
        self._tokens, self._lexicon = listener.tokens, listener.lexicon
        self._tally = tally
        self._language = listener.tokens.language

    def again(self, clause: Clause, said: Said) -> Answer[bool]:
        """ "The same again but with soy", "another small one": order one more, changed as it is said. False
        where no more of the same is wished for."""
        tally = self._tally
        same = self._same(clause, said)
        if same and self._language.the_other & set(said.words) and self._told_apart():
            yield from self._rest_alike()
            yield from share(tally, tally.focus, said)
            return True
        whole = same or self._yet_another(said)
        if said.item is not None or not tally.wishes or not (whole or self._one_more(clause, said)):
            return False
        last = tally.wishes[-1]
        more = replace(last) if whole else Wish(last.items, last.at)
        number = said.number.value if said.number else 1
        more = replace(more, quantity=number, size=more.size or self.same_size(said))
        yield Repeat(last, more)
        if not self._language.joining & set(said.words):
            yield from _make_room(more, said)
        yield from share(tally, (more,), said)
        return True

    def same_size(self, said: Said) -> str | None:
        """The size that "same size" means: that of the last line that has one, or of one that has just
        gone."""
        if not any(pair in self._language.same_size for pair in pairwise(said.words)):
            return None
        known = [*self._tally.gone[-1:], *self._tally.wishes]
        return next((wish.size for wish in reversed(known) if wish.size), None)

    def _told_apart(self) -> bool:
        """Whether some of several were told apart, and others are left."""
        return self._tally.rest is not None and self._tally.total > 1

    def _same(self, clause: Clause, said: Said) -> bool:
        """Whether a clause asks for a line again: "the same", but not "that's too much", nor "one just like
        that" of several that are being told apart."""
        language, at = self._language, range(clause.body, clause.end)
        ends = (phrase_end(self._tokens, i, language.again) for i in at)
        chosen = {n.start for n in clause.names if n.of("option")}
        if not any(end is not None and end not in chosen and not self._same_of(end) for end in ends):
            return False
        if any(phrase_end(self._tokens, i, language.too_much) is not None for i in at):
            return False
        if said.number is None or not self._told_apart():
            return True
        return all(phrase_end(self._tokens, i, language.as_it_is) is None for i in at)

    def _yet_another(self, said: Said) -> bool:
        """ "A third with soy"."""
        articles, ordinals = self._language.indefinite_articles, self._language.ordinals
        return any(a in articles and b in ordinals for a, b in pairwise(said.words))

    def _same_of(self, end: int) -> bool:
        """ "The same size", "same drink": one thing about a line, and no line again; nor is "that too
        strong"."""
        language = self._language
        follows = end < len(self._tokens) and not self._tokens[end - 1].after
        word = self._tokens[end].folded if follows else ""
        if word in self._lexicon.choices or word in language.alike:
            return True
        quality = bool(word) and word not in language.fillers
        return quality and self._tokens[end - 1].folded in language.excess

    def _one_more(self, clause: Clause, said: Said) -> bool:
        """ "Another with soy"; "and a vanilla one", of what can be had in one flavour only."""
        words, language = said.words, self._language
        if language.one_more & set(words):
            return True
        if clause.lead not in language.conjunctions or len(words) < 3:
            return False
        if words[0] not in language.indefinite_articles or words[2] not in language.ones:
            return False
        last = self._tally.wishes[-1] if self._tally.wishes else None
        chosen = {group for group, _ in last.options} if last is not None else set()
        groups = {o.group for choices in said.options for o in choices}
        return any(self._tally.single(group) for group in groups & chosen)

    def _rest_alike(self) -> Changes:
        """ "The other the same": what is left gets what was said of the part before it."""
        rest = self._tally.rest
        assert rest is not None
        before = next((w for w in reversed(self._tally.group) if w is not rest), rest)
        options = as_choices(before.options)
        yield Resize(rest, before.size)
        for choices in options:
            yield Share((rest,), choices)
        yield Split(rest, rest.quantity)


def _make_room(more: Wish, said: Said) -> Changes:
    """ "The same with honey mustard": the one sauce that it had gives way."""
    for group in {o.group for choices in said.options for o in choices}:
        held = [c for c, (amount, _) in more.options.items() if c[0] == group and amount is Amount.NORMAL]
        if len(held) == 1:
            yield Drop(more, (held[0],))
