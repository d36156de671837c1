"""What a clause makes another item of: "make one of them a Hawaiian", "both iced", "two chocolate" of six
croissants."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate

from schemas.cart import Amount
from services.reading.chart.span import Number
from services.reading.clauses.changes import Answer, Changes, Drop, Resize, Turn
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.makers.sharing import share, split
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish


class Becoming:
    """Makes the changes of lines that are another item than was said at first."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._numbers = listener.tokens, listener.numbers
        self._lexicon = listener.lexicon
        self._tally, self._pointer = tally, pointer
        self._language = listener.tokens.language

    def turned(self, said: Said) -> tuple[str, ...]:
        """The item that "two chai lattes, both iced" are: of several that a part of a name may mean, the
        one that goes on from what is spoken of."""
        mention = said.item.of("item") if said.item is not None else None
        if mention is None or mention.strong or len(said.skus) < 2:
            return ()
        counted = not self._language.indefinite_articles.isdisjoint(said.words[1:-1])
        spoken = self._tally.focus[-1] if self._tally.focus else None
        if counted or spoken is None or not spoken.items:
            return ()
        turned = kin(self._tally, spoken, said.skus)
        return turned if len(turned) == 1 and turned != spoken.items else ()

    def turn(self, clause: Clause, said: Said, turned: tuple[str, ...]) -> Changes:
        """ "Both iced": what is spoken of is another item of the same kind."""
        for line in self._pointer.every(clause, said) or self._tally.focus:
            yield Turn(line, turned)
        yield from share(self._tally, self._tally.focus, said)

    def becomes(self, clause: Clause, said: Said, turned: tuple[str, ...]) -> Answer[bool]:
        """Whether some of what is spoken of are another item: "make one of them a Hawaiian", "the other a
        veggie", "two chocolate" of six croissants, "one of them iced"; `turned` is the item that it turns
        into."""
        some, number = self._pointer.some(clause), said.number.value if said.number else 0
        total, rest, item = self._tally.total, self._tally.rest, said.item
        if item is not None:
            place, bare = (item.start, item.end), replace(said, item=None)
            new = total > 1 and not self._tally.of_item(said.skus)
            if turned and 0 < (some or number) < total:
                return (yield from self._become(some or number, turned, place, bare))
            if new and rest is not None and self._language.the_other & set(said.words[:2]):
                return (yield from self._become(rest.quantity, said.skus, place, bare))
            if new and some:
                return (yield from self._become(some, said.skus, place, said))
        if said.number is not None and (kind := self._kind(clause, said, said.number)) is not None:
            place = (said.number.start, said.number.end + 1)
            return (yield from self._become(number, (kind,), place, self._beyond(clause, said)))
        return False

    def _become(self, quantity: int, skus: tuple[str, ...], at: tuple[int, int], said: Said) -> Answer[bool]:
        """ "Make one of them a Hawaiian": some of a line are another item of the same size."""
        line = yield from split(self._tally, self._tally.undivided, quantity)
        yield Turn(line, skus, at)
        if line.options:
            yield Drop(line, tuple(line.options))
        if line.size and not self._tally.sized(line, line.size):
            yield Resize(line, None)
        yield from share(self._tally, (line,), said)
        return True

    def _kind(self, clause: Clause, said: Said, number: Number) -> str | None:
        """The item that "two chocolate" are of six croissants; None where they are of no kind."""
        tally, tokens = self._tally, self._tokens
        if tally.rest is None or tally.total < 2 or not 0 < number.value <= tally.rest.quantity:
            return None
        first, end = tally.group[0].at
        if end - first > 1:
            return None  # "two drip coffees" are of one kind
        words = tuple(t.folded for t in tokens[number.end : clause.end])
        head = tokens[end - 1].folded
        fitting = (
            sku
            for name, sku in self._lexicon.items(head)
            if len(name) > 1 and name[-1] == head and words[: len(name) - 1] == name[:-1]
        )
        summed = tally.total in list(accumulate(n.value for n in self._numbers if n.start >= end))[1:]
        return next((sku for sku in fitting if summed or not self._names_another(said, sku)), None)

    def _names_another(self, said: Said, sku: str) -> bool:
        """Whether a clause says the full name of another item than `sku`."""
        mention = said.item.of("item") if said.item is not None else None
        return mention is not None and mention.strong and sku not in mention.ids

    def _beyond(self, clause: Clause, said: Said) -> Said:
        """What a clause says of a kind beside its name: after "with" or "no"."""
        language = self._language
        words = [t.folded for t in self._tokens[clause.body : clause.end]]
        named = any(w in language.accompanying or language.amounts.get(w) is Amount.NONE for w in words)
        return said if named else replace(said, options=())


def kin(tally: Tally, old: Wish, skus: tuple[str, ...]) -> tuple[str, ...]:
    """Of several items that a part of a name may mean, the one that goes on from the old one: after a
    cheeseburger "the combo" is the cheeseburger combo."""
    own = set().union(*(tally.words(sku) for sku in old.items))
    found = tuple(sku for sku in skus if own and own <= tally.words(sku))
    return found if len(skus) > 1 and len(found) == 1 else skus
