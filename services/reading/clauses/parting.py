"""What a clause tells apart of what was ordered: "one with oat", "the rest plain", "both large"."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

from schemas.cart import Amount
from services.reading.chart.span import Number
from services.reading.chart.tokens import span
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.language import Language


def _whose(words: tuple[str, ...], language: Language) -> bool:
    """ "Mine has soy", "my brother's with rice"."""
    of_mine = len(words) > 2 and words[0] in language.speakers and words[2] in language.before_part
    return of_mine or bool(set(words) & language.theirs)


class Parter:
    """Gives sizes and options without an item to the lines that they are said of."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._numbers = listener.tokens, listener.numbers
        self._lexicon, self._settled = listener.lexicon, listener.settled
        self._tally, self._pointer = tally, pointer
        self._language = listener.tokens.language

    def part(self, clause: Clause, said: Said) -> None:
        """Sizes and options without an item: of all lines, of some, or of what was spoken of last."""
        before = self._tally.focus
        every, some = self._pointer.every(clause, said), self._pointer.some(clause)
        if every is not None:
            self._tally.focus = every
        elif some and self._of_those(said) and len(before) == 1 and before[0].quantity > some:
            # "Two of them with extra pickles, one of those two cut in half".
            self._tally.part(before[0], some)
        elif self._tally.total > 1 and (told := self._told_apart(said, some)) is not None:
            self._tally.part(*told)
        elif (count := self._counted(clause, said)) is not None:
            self._counted_part(clause, said, count)
        self._pointer.give(self._tally.focus, said, undoes=self._tally.focus is before)

    def _of_those(self, said: Said) -> bool:
        return any(pair in self._language.of_those for pair in pairwise(said.words))

    def _told_apart(self, said: Said, some: int | None) -> tuple[Wish, int] | None:
        """Of which line how many are spoken of, where words other than a number tell it: "one of them",
        "mine's got soy and hers an extra shot", "the other plain"."""
        tally = self._tally
        if some is not None:
            return self._undivided(), some
        if tally.rest is not None and _whose(said.words, self._language):
            return tally.rest, 1
        if self._language.the_other & set(said.words):
            unspoken = (w for w in tally.group if w not in tally.focus)
            rest = tally.rest or next(unspoken, tally.group[0])
            return rest, rest.quantity
        return None

    def _undivided(self) -> Wish:
        """The line that is not yet told apart, or else that of which there are most."""
        return self._tally.rest or max(self._tally.group, key=lambda wish: wish.quantity)

    def lacks(self, said: Said) -> bool:
        """ "Three with ice, two without": some of the rest get nothing of what the part before has."""
        tally = self._tally
        had = tally.focus[-1].options if tally.focus else {}
        if said.number is None or not self._only_refuses(said) or tally.rest is None or not had:
            return False
        part = tally.part(tally.rest, said.number.value)
        part.options = {choice: (Amount.NONE, 1) for choice in had}
        return True

    def _only_refuses(self, said: Said) -> bool:
        return len(said.words) == 2 and said.words[1] in self._language.refusing_all

    def becomes(self, clause: Clause, said: Said, turned: tuple[str, ...]) -> bool:
        """Whether some of what is spoken of are another item: "make one of them a Hawaiian", "the other a
        veggie", "two chocolate" of six croissants, "one of them iced"; `turned` is the item that it turns
        into."""
        some, number = self._pointer.some(clause), said.number.value if said.number else 0
        total, rest, item = self._tally.total, self._tally.rest, said.item
        if item is not None:
            place, bare = (item.start, item.end), replace(said, item=None)
            new = total > 1 and not self._tally.of_item(said.skus)
            if turned and 0 < (some or number) < total:
                return self._become(some or number, turned, place, bare)
            if new and rest is not None and self._language.the_other & set(said.words[:2]):
                return self._become(rest.quantity, said.skus, place, bare)
            if new and some:
                return self._become(some, said.skus, place, said)
        if said.number is not None and (kind := self._kind(clause, said, said.number)) is not None:
            place = (said.number.start, said.number.end + 1)
            return self._become(number, (kind,), place, self._beyond(clause, said))
        return False

    def _become(self, quantity: int, skus: tuple[str, ...], at: tuple[int, int], said: Said) -> bool:
        """ "Make one of them a Hawaiian": some of a line are another item of the same size."""
        some = self._tally.part(self._undivided(), quantity)
        some.items, some.at, some.options = skus, at, {}
        some.size = some.size if some.size and self._tally.sized(some, some.size) else None
        self._pointer.give([some], said)
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

    def _counted(self, clause: Clause, said: Said) -> int | None:
        """How many a part without an item is of, by its number or article; None where it is no part."""
        if self._lists_sizes(clause, said):
            return 1
        pronoun = self._pronoun(clause, said)
        if said.number is not None and not pronoun and not self._counts_option(clause, said):
            return said.number.value
        if pronoun and self._by_size(said):
            return 1
        first = min((n.start for n in clause.names), default=clause.end)
        article = self._pointer.article(clause, first)
        divided = self._tally.rest is not None and self._tally.total > 1
        if article and divided and self._begins_part(clause, said):
            return 1
        return 1 if (pronoun or article) and self._another_size(clause, said, pronoun=pronoun) else None

    def _lists_sizes(self, clause: Clause, said: Said) -> bool:
        """ "A pizza in small, in medium and in large"."""
        listed = clause.lead in self._language.conjunctions or clause.lead == ","
        if not listed or not said.words or said.words[0] not in self._language.placing:
            return False
        return bool(said.sizes) and not said.options and all(wish.size for wish in self._tally.group)

    def _pronoun(self, clause: Clause, said: Said) -> bool:
        """ "The small one": whether the number is what was named before it, and counts nothing."""
        at = said.number.start if said.number is not None else None
        return any(name.end == at for name in clause.names if not name.of("item"))

    def _counts_option(self, clause: Clause, said: Said) -> bool:
        """ "Three ranch and one blue cheese" for one item counts sauces."""
        at = said.number.end if said.number is not None and self._tally.total == 1 else None
        return not said.sizes and any(name.start == at for name in clause.names if not name.of("item"))

    def _by_size(self, said: Said) -> bool:
        """ "Two lattes; the large one gets oat, the small one soy": a part told by its size, of a line that
        has none yet."""
        rest = self._tally.rest if self._tally.total > 1 else None
        the = bool(self._language.definite_articles & set(said.words))
        return the and rest is not None and rest.size is None and bool(said.sizes)

    def _another_size(self, clause: Clause, said: Said, *, pronoun: bool) -> bool:
        """ "A root beer and a small one" orders another, where "a root beer, a small one" says its size;
        "make his a small" does neither."""
        if not said.sizes or not self._tally.group or clause.cue:
            return False
        if self._language.describing & set(said.words):
            return False
        spoken = self._tally.focus[-1:]
        other = pronoun and any(wish.size not in (None, *said.sizes) for wish in spoken)
        return other or clause.lead in self._language.conjunctions

    def _begins_part(self, clause: Clause, said: Said) -> bool:
        """ "Three, a small one with cream, ..."; "two vanilla and a strawberry", where one can be chosen."""
        choices = [option for alike in said.options for option in alike if self._tally.single(option.group)]
        chosen = {group for wish in self._tally.focus for group, _ in wish.options}
        chosen |= {o.group for o in choices if self._kinds_follow(clause, o.group)}
        return any(o.group in chosen for o in choices) or (bool(said.sizes) and not clause.cue)

    def _kinds_follow(self, clause: Clause, group: str) -> bool:
        """ "Two shakes, a vanilla and a strawberry": as many kinds with an article as there are."""
        of_group = (m for m in self._settled if m.kind == "option" and group in m.groups)
        starts = [first for m in of_group if (first := span(self._tokens, m)[0]) >= clause.start]
        articles = self._language.indefinite_articles
        kinds = [first for first in starts if self._tokens[first - 1].folded in articles]
        return not self._tally.parted and len(kinds) == self._tally.total

    def _counted_part(self, clause: Clause, said: Said, count: int) -> None:
        """ "Two with oat": some of those ordered, or that many more."""
        tally, joined = self._tally, clause.lead in self._language.coordinating
        rest, base = tally.rest, tally.group[0]
        spoken = tally.focus[0] if len(tally.focus) == 1 else base
        if rest is None and tally.parted and not joined and spoken.quantity > count:
            tally.part(spoken, count)  # "of those two, make one decaf"
        elif rest is None or count > rest.quantity or self._is_more(said, base, joined=joined):
            tally.beside(Wish(base.items, base.at, count), tally.group[-1])
        else:
            tally.part(rest, count)

    def _is_more(self, said: Said, base: Wish, *, joined: bool) -> bool:
        """Whether a number is of that many more: "and two with oat", or a large one beside a small one. None
        is, where some were told apart already."""
        other_size = bool(said.sizes) and base.size is not None and base.size not in said.sizes
        return not self._tally.parted and (other_size or joined or base.quantity == 1)
