"""What a clause tells apart of what was ordered: "one with oat", "the rest plain", "both large"."""

from __future__ import annotations

from dataclasses import replace
from itertools import accumulate, pairwise

from schemas.cart import Amount
from services.reading.chart.tokens import span
from services.reading.clauses.clause import Clause
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.pointing import Pointer
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.english import AND
from services.reading.language.turns import THE_OTHER, THEIRS


def _whose(words: tuple[str, ...]) -> bool:
    """ "Mine has soy", "my brother's with rice"."""
    of_mine = words[:1] == ("my",) and words[2:3] and words[2] in ("has", "get", "with", "without", "no")
    return bool(set(words) & THEIRS or of_mine)


def _of_those(said: Said) -> bool:
    return ("of", "those") in pairwise(said.words)


class Parter:
    """Gives sizes and options without an item to the lines that they are said of."""

    def __init__(self, listener: Listener, tally: Tally, pointer: Pointer) -> None:
        self._tokens, self._numbers = listener.tokens, listener.numbers
        self._lexicon, self._settled = listener.lexicon, listener.settled
        self._tally, self._pointer = tally, pointer

    def part(self, clause: Clause, said: Said) -> None:
        """Sizes and options without an item: of all lines, of some, or of what was spoken of last."""
        tally, total = self._tally, self._tally.total
        every, some = self._pointer.every(clause, said), self._pointer.some(clause)
        before = tally.focus
        if every is not None:
            tally.focus = every
        elif some and _of_those(said) and len(before) == 1 and before[0].quantity > some:
            tally.part(before[0], some)  # "two of them with extra pickles, one of those two cut in half"
        elif some is not None and total > 1:
            tally.part(tally.rest or max(tally.group, key=lambda w: w.quantity), some)
        elif _whose(said.words) and total > 1 and tally.rest is not None:
            tally.part(tally.rest, 1)  # "mine's got soy and hers an extra shot"
        elif set(said.words) & THE_OTHER and total > 1:
            rest = tally.rest or next((w for w in tally.group if w not in tally.focus), tally.group[0])
            tally.part(rest, rest.quantity)
        elif (count := self._counted(clause, said)) is not None:
            self._counted_part(clause, said, count)
        self._pointer.give(tally.focus, said, undoes=tally.focus is before)

    def lacks(self, said: Said) -> bool:
        """ "Three with ice, two without": some of the rest get nothing of what the part before has."""
        tally = self._tally
        had = tally.focus[-1].options if tally.focus else {}
        if said.number is None or said.words[1:] != ("without",) or tally.rest is None or not had:
            return False
        part = tally.part(tally.rest, said.number.value)
        part.options = {choice: (Amount.NONE, 1) for choice in had}
        return True

    def becomes(self, clause: Clause, said: Said, turned: tuple[str, ...]) -> bool:
        """Whether some of what is spoken of are another item: "make one of them a Hawaiian", "the other a
        veggie", "two chocolate" of six croissants, "one of them iced"; `turned` is the item that it turns
        into."""
        tally, item, number = self._tally, said.item, said.number.value if said.number else 0
        some, total = self._pointer.some(clause), tally.total
        new = item is not None and not tally.of_item(said.skus)
        if turned and item is not None and 0 < (some or number) < total:
            self._become(some or number, turned, (item.start, item.end), replace(said, item=None))
        elif new and item and tally.rest and total > 1 and THE_OTHER & set(said.words[:2]):
            place = (item.start, item.end)
            self._become(tally.rest.quantity, said.skus, place, replace(said, item=None))
        elif new and item and some and total > 1:
            self._become(some, said.skus, (item.start, item.end), said)
        elif said.number is not None and (kind := self._kind(clause, said)) is not None:
            at = (said.number.start, said.number.end + 1)
            self._become(number, (kind,), at, self._beyond(clause, said))
        else:
            return False
        return True

    def _become(self, quantity: int, skus: tuple[str, ...], at: tuple[int, int], said: Said) -> None:
        """ "Make one of them a Hawaiian": some of a line are another item of the same size."""
        tally = self._tally
        some = tally.part(tally.rest or max(tally.group, key=lambda w: w.quantity), quantity)
        some.items, some.at, some.options = skus, at, {}
        some.size = some.size if some.size and tally.sized(some, some.size) else None
        self._pointer.give([some], said)

    def _kind(self, clause: Clause, said: Said) -> str | None:
        """The item that "two chocolate" are of six croissants; None where they are of no kind."""
        tally, tokens = self._tally, self._tokens
        number = said.number
        if (
            number is None
            or tally.rest is None
            or tally.total < 2
            or not 0 < number.value <= tally.rest.quantity
        ):
            return None
        first, end = tally.group[0].at
        head = tokens[end - 1].folded
        told = [n.value for n in self._numbers if n.start >= end]
        summed = tally.total in list(accumulate(told))[1:]
        if end - first > 1:
            return None  # "two drip coffees" are of one kind
        words = tuple(t.folded for t in tokens[number.end : clause.end])
        mention = said.item.of("item") if said.item is not None else None
        for name, sku in self._lexicon.items(head):
            other = mention is not None and mention.strong and sku not in mention.ids
            fits = len(name) > 1 and name[-1] == head and words[: len(name) - 1] == name[:-1]
            if fits and (summed or not other):
                return sku
        return None

    def _beyond(self, clause: Clause, said: Said) -> Said:
        """What a clause says of a kind beside its name: the words from "with" on."""
        words = [t.folded for t in self._tokens[clause.body : clause.end]]
        return said if "with" in words or "no" in words else replace(said, options=())

    def _counted(self, clause: Clause, said: Said) -> int | None:
        """How many a part without an item is of, by its number or article; None where it is no part."""
        tally = self._tally
        sizes = {wish.size for wish in tally.group}
        listed = clause.lead in (",", "and") and said.words[:1] == ("in",)
        if listed and said.sizes and not said.options and None not in sizes:
            return 1  # "a pizza in small, in medium and in large"
        plain = [n for n in clause.names if not n.of("item")]
        pronoun = said.number is not None and any(n.end == said.number.start for n in plain)
        # "Three ranch and one blue cheese" for one item counts sauces.
        sauces = said.number is not None and tally.total == 1 and not said.sizes
        sauces = sauces and any(said.number is not None and n.start == said.number.end for n in plain)
        if said.number is not None and not pronoun and not sauces:
            return said.number.value
        late = pronoun and tally.total > 1 and tally.rest is not None and tally.rest.size is None
        if late and said.sizes and "the" in said.words:
            return 1  # "two lattes; the large one gets oat, the small one soy"
        article = self._pointer.article(clause, min((n.start for n in clause.names), default=clause.end))
        if article and tally.rest is not None and tally.total > 1 and self._begins_part(clause, said):
            return 1
        # "A root beer, a small one" says its size, "a root beer and a small one" orders another; "make his
        # a small" does neither.
        other = bool(tally.focus) and tally.focus[-1].size not in (None, *said.sizes)
        joined = clause.lead in AND or (pronoun and other)
        sized = bool(said.sizes) and joined and bool(tally.group)
        changed = bool(clause.cue) or bool({"make", "is", "be"} & set(said.words))
        return 1 if sized and not changed and (pronoun or article) else None

    def _begins_part(self, clause: Clause, said: Said) -> bool:
        """ "Three, a small one with cream, ..."; "two vanilla and a strawberry", where one can be chosen."""
        choices = [option for alike in said.options for option in alike if self._tally.single(option.group)]
        chosen = {group for wish in self._tally.focus for group, _ in wish.options}
        chosen |= {o.group for o in choices if self._kinds_follow(clause, o.group)}
        return any(o.group in chosen for o in choices) or (bool(said.sizes) and not clause.cue)

    def _kinds_follow(self, clause: Clause, group: str) -> bool:
        """ "Two shakes, a vanilla and a strawberry": as many kinds with an article as there are."""
        kinds = [
            m
            for m in self._settled
            if m.kind == "option" and group in m.groups and span(self._tokens, m)[0] >= clause.start
            if self._tokens[span(self._tokens, m)[0] - 1].folded in ("a", "an")
        ]
        return not self._tally.parted and len(kinds) == self._tally.total

    def _counted_part(self, clause: Clause, said: Said, count: int) -> None:
        """ "Two with oat": some of those ordered, or that many more."""
        tally = self._tally
        rest, base = tally.rest, tally.group[0]
        other_size = bool(said.sizes) and base.size is not None and base.size not in said.sizes
        more = not tally.parted and (other_size or clause.lead == "and")
        spoken = tally.focus[0] if len(tally.focus) == 1 else base
        if rest is None and tally.parted and clause.lead != "and" and spoken.quantity > count:
            tally.part(spoken, count)  # "of those two, make one decaf"
            return
        whole = not tally.parted and base.quantity == 1
        if more or rest is None or whole or count > rest.quantity:
            tally.beside(Wish(base.items, base.at, count), tally.group[-1])
        else:
            tally.part(rest, count)
