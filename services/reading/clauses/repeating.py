"""One more of what was ordered before: "the same again but with soy", "another small one", "same size"."""

from __future__ import annotations

from itertools import pairwise

from schemas.cart import Amount
from services.reading.chart.mentions import phrase_end
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.english import AND, FILLERS
from services.reading.language.turns import AGAIN, ALIKE, AS_IT_IS, ORDINALS, THE_OTHER, TOO_MUCH

# With these an option joins the one that is there, of which otherwise it takes the place.
_JOINING = frozenset("too added add plus also".split())


class Repeater:
    """Orders what stands already once more, changed as it is said."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._lexicon = listener.tokens, listener.lexicon
        self._tally, self._pointer = tally, pointer

    def again(self, clause: Clause, said: Said) -> bool:
        """ "The same again but with soy", "another small one": order one more, changed as it is said. False
        where no more of the same is wished for."""
        same = self._same(clause, said)
        third = any(a == "a" and b in ORDINALS for a, b in pairwise(said.words))
        if same and THE_OTHER & set(said.words) and self._tally.rest is not None and self._tally.total > 1:
            self._alike(self._tally.rest)
            self._pointer.give(self._tally.focus, said)
            return True
        more = same or third or "another" in said.words or self._one_more(clause, said)
        if said.item is not None or not self._tally.wishes or not more:
            return False
        last = self._tally.wishes[-1]
        alike = last.like() if same or third else Wish(last.items, last.at)
        alike.size = alike.size or self.same_size(said)
        alike.quantity = said.number.value if said.number else 1
        self._tally.copy = self._tally.beside(alike, last)
        self._tally.rest = None  # what follows is said of this one
        # "The same with honey mustard": the one sauce that it had gives way.
        for group in {o.group for choices in said.options for o in choices}:
            held = [
                c for c, (amount, _) in alike.options.items() if c[0] == group and amount is Amount.NORMAL
            ]
            if len(held) == 1 and not _JOINING & set(said.words):
                del alike.options[held[0]]
        self._pointer.give([alike], said)
        return True

    def same_size(self, said: Said) -> str | None:
        """The size that "same size" means: that of the last line that has one, or of one that has just
        gone."""
        if not any(pair == ("same", "size") for pair in pairwise(said.words)):
            return None
        known = [*self._tally.gone[-1:], *self._tally.wishes]
        return next((wish.size for wish in reversed(known) if wish.size), None)

    def _same(self, clause: Clause, said: Said) -> bool:
        """Whether a clause asks for a line again: "the same", but not "that's too much", nor "one just like
        that" of several that are being told apart."""
        at = range(clause.body, clause.end)
        ends = (phrase_end(self._tokens, i, AGAIN) for i in at)
        chosen = {n.start for n in clause.names if n.of("option")}
        same = any(end is not None and end not in chosen and not self._same_of(end) for end in ends)
        same = same and not any(phrase_end(self._tokens, i, TOO_MUCH) is not None for i in at)
        if said.number is not None and self._tally.total > 1 and self._tally.rest is not None:
            same = same and not any(phrase_end(self._tokens, i, AS_IT_IS) is not None for i in at)
        return same

    def _same_of(self, end: int) -> bool:
        """ "The same size", "same drink": one thing about a line, and no line again; nor is "that too
        strong"."""
        word = self._tokens[end].folded if end < len(self._tokens) and not self._tokens[end - 1].after else ""
        too = self._tokens[end - 1].folded == "too"
        return word in self._lexicon.choices | ALIKE or (too and bool(word) and word not in FILLERS)

    def _one_more(self, clause: Clause, said: Said) -> bool:
        """ "And a vanilla one", of what can be had in one flavour only."""
        last = self._tally.wishes[-1] if self._tally.wishes else None
        chosen = {group for group, _ in last.options} if last is not None else set()
        groups = {o.group for choices in said.options for o in choices}
        led = clause.lead in AND and said.words[:1] == ("a",) and said.words[2:3] == ("1",)
        return led and any(self._tally.single(group) for group in groups & chosen)

    def _alike(self, rest: Wish) -> None:
        """ "The other the same": what is left gets what was said of the part before it."""
        before = next((w for w in reversed(self._tally.group) if w is not rest), rest)
        rest.size, rest.options = before.size, dict(before.options)
        self._tally.part(rest, rest.quantity)
