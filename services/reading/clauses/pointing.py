"""Words that point at what was ordered before: "the small one", "one of them", "the burger", "both"."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import pairwise

from services.reading.chart.mentions import Name, phrase_end
from services.reading.clauses.clause import Clause, sentence_at
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.language import Language

# A word of more letters may be meant where a name's word ends in it: "burger" of a cheeseburger.
_SHORT = 3


@dataclass(frozen=True, slots=True)
class Target:
    """A line that is pointed at, and how many of it; all of them where `quantity` is None."""

    line: Wish
    quantity: int | None = None


class Pointer:
    """Finds the lines that a clause is about. It looks, and changes nothing."""

    def __init__(self, listener: Listener, tally: Tally) -> None:
        self._listener, self._tokens, self._tally = listener, listener.tokens, tally
        self._language = listener.tokens.language

    def article(self, clause: Clause, until: int) -> bool:
        """Whether "a" or "another" leads to token `until`."""
        return any(t.folded in self._language.indefinites for t in self._tokens[clause.body : until])

    def some(self, clause: Clause) -> int | None:
        """How many "one of them" is about; None when no such words are said."""
        for i in range(clause.body, clause.end):
            if phrase_end(self._tokens, i, self._language.half_of) is not None:
                return max(1, self._tally.total // 2)
            if phrase_end(self._tokens, i, self._language.one_of) is not None:
                return next((n.value for n in self._listener.numbers if n.start == i), 1)
        return None

    def points(self, clause: Clause, said: Said) -> bool:
        """Whether a clause points at what was spoken of ("one of those", "one with no onions")."""
        number = said.number is not None and said.number.value == 1
        return number or bool(self._language.pointing & set(said.words)) or self.some(clause) is not None

    def every(self, clause: Clause, said: Said) -> tuple[Wish, ...] | None:
        """The lines that "both", "all" and their like are said of."""
        language, group, total = self._language, self._tally.group, self._tally.total
        shares = language.each | language.of_two
        word = next((word for word in said.words if word in shares), None)
        if self._all_of_them(said):
            return self._told_with(clause) or self._tally.wishes
        if word is None:
            return None
        if word in language.apiece:
            few = said.number is not None and said.number.value < total
            return None if few else group  # "two with one scoop each"
        if word in language.of_two:
            return group if total == 2 else self._tally.wishes[-2:]
        return self._told_with(clause) or self._tally.wishes

    def _all_of_them(self, said: Said) -> bool:
        """ "No mayo on any of them"; "and toast them", where one thing is spoken of."""
        if any(phrase in self._language.any_of for phrase in pairwise(said.words)):
            return True
        shared = self._language.each | self._language.of_two
        last = said.words[-1:] and said.words[-1] in self._language.plural_pronouns
        return bool(last and said.options and self._tally.total == 1 and not shared & set(said.words))

    def _told_with(self, clause: Clause) -> tuple[Wish, ...]:
        """The several that were ordered in a sentence which goes on with "all with honey"."""
        start, _ = sentence_at(self._tokens, clause.start)
        told = tuple(wish for wish in self._tally.wishes if wish.at[0] >= start)
        return told if clause.lead == "," and sum(wish.quantity for wish in told) > 1 else ()

    def refers(self, clause: Clause, said: Said) -> Target | None:
        """The line meant by "the mocha", "the small one", "the vanilla one", "one of the first"."""
        ordinal, pointed = self._ordinal(said), self._pointed(said)
        if ordinal is None and not pointed and not self._language.referring & set(said.words):
            return None
        some = self.some(clause) or None
        if said.item is None and ordinal is not None:
            nth = self._nth(ordinal, said.number.value if said.number else 1)
            return nth if nth is None or some is None else Target(nth.line, min(some, nth.quantity or some))
        found = self._described(clause, said, pointed=pointed)
        return Target(found[0], some) if found else None

    def _described(self, clause: Clause, said: Said, *, pointed: bool) -> list[Wish]:
        """The line meant by its item, its size or what it has; `pointed` where "the" leads to the item."""
        if said.item is not None:
            found = self._tally.of_item(said.skus)[:1] or self.by_words(said) if pointed else []
            # "The chicken one", where there is a chicken wrap too.
            return found or (self._held(clause, said) if self._named(clause) else [])
        several = len(self._tally.wishes) > 1
        return self._held(clause, said) or self._called(clause) if several else []

    def _ordinal(self, said: Said) -> int | None:
        """The place in "the second", "the last two"; "a second" is one more."""
        if self._language.indefinite_articles & set(said.words):
            return None
        ordinals = self._language.ordinals
        return next((ordinals[word] for word in said.words if word in ordinals), None)

    def _pointed(self, said: Said) -> bool:
        """ "The mocha", "those burgers"."""
        at = said.item.start if said.item is not None else 0
        return at > 0 and self._tokens[at - 1].folded in self._language.referring

    def _nth(self, ordinal: int, number: int) -> Target | None:
        """ "The second", or "the last two", of several that were ordered at once, or else the second line."""
        tally, rest = self._tally, self._tally.rest
        group = [wish for wish in tally.wishes if wish in tally.group]
        if tally.total < 2 or ordinal >= tally.total:
            line = tally.wishes[ordinal : ordinal + 1 or None]
            return Target(line[0]) if line else None
        each = [wish for wish in group for _ in range(wish.quantity)]
        wish = rest if rest is not None and rest.quantity > 1 else each[ordinal]
        return Target(wish, number)

    def by_words(self, said: Said) -> list[Wish]:
        """ "Just the coffee" of an iced one, where no other is ordered; "the burger" of a cheeseburger."""
        words = [t.folded for t in self._tokens[said.item.start : said.item.end]] if said.item else []
        wishes = self._tally.wishes if words else ()
        found = [w for w in wishes if any({*words} <= self._tally.words(sku) for sku in w.items)]
        if not found and len(words) == 1 and len(words[0]) > _SHORT:
            found = [w for w in wishes if self._ends_in(w, words[0])]
        return found if len(found) == 1 else []

    def _ends_in(self, wish: Wish, ending: str) -> bool:
        return any(name.endswith(ending) for sku in wish.items for name in self._tally.words(sku))

    def by_kind(self, words: tuple[str, ...]) -> list[Wish]:
        """ "The tea", where one of the lines is a tea, though not by the name that it was ordered by."""
        leading = self._language.referring | self._language.speakers
        kind = next((after for word, after in pairwise(words) if word in leading), None)
        found = [w for w in self._tally.wishes if kind is not None and self._is_kind(w, kind)]
        return found if len(found) == 1 else []

    def _is_kind(self, wish: Wish, kind: str) -> bool:
        return any(kind in self._tally.kind(sku) | self._tally.words(sku) for sku in wish.items)

    def about(self, clause: Clause, said: Said, target: Wish) -> Said:
        """What is said of a line that a clause points at, without what it is pointed at by."""
        sizes = () if said.item is None and target.size in said.sizes else said.sizes
        named = self._named(clause)
        options = tuple(c for c in said.options if not named & {o.id for o in c})
        return replace(said, item=None, sizes=sizes, options=options)

    def _held(self, clause: Clause, said: Said) -> list[Wish]:
        sized = [w for size in said.sizes for w in self._tally.wishes if w.size == size]
        named = self._named(clause)
        chosen = [w for w in self._tally.wishes if any(c[1] in named for c in w.options)]
        return sized if len(sized) == 1 else chosen if len(chosen) == 1 else []

    def _called(self, clause: Clause) -> list[Wish]:
        """ "The chicken one": the only line with that word in its name."""
        words = {
            t.folded
            for name in clause.names
            if name.of("option") and self._points_by(name, clause)
            for t in self._tokens[name.start : name.end]
        }
        held = [w for w in self._tally.wishes if any(words <= self._tally.words(sku) for sku in w.items)]
        return held if words and len(held) == 1 else []

    def _named(self, clause: Clause) -> set[str]:
        """Options by which a line is pointed at: "the vanilla one"."""
        named: set[str] = set()
        for name in clause.names:
            if name.start > clause.body and name.of("option") and self._points_by(name, clause):
                named |= {option.id for option in self._listener.options(name)}
        return named

    def _points_by(self, name: Name, clause: Clause) -> bool:
        """Whether a line is pointed at by a choice of it: "the vanilla one", "the one with vanilla", "a
        cherry on the vanilla", but not "light on the ice"."""
        language = self._language
        after = self._tokens[name.end].folded if name.end < len(self._tokens) else ""
        lead = tuple(t.folded for t in self._tokens[max(name.start - 3, 0) : name.start])
        if not lead:
            return False
        the = lead[-1] in language.definite_articles
        if the and after in language.ones:
            return True  # "the vanilla one"
        if len(lead) == 3 and _the_one_with(lead, language):
            return True
        last = name is clause.names[-1] and name.end == clause.end and len(clause.names) > 1
        onto = the and len(lead) > 1 and lead[-2] in language.placing
        return last and onto and lead[0] not in language.amounts


def _the_one_with(lead: tuple[str, ...], language: Language) -> bool:
    """Whether three words are "the one with"."""
    the, one, accompanying = lead
    return (
        the in language.definite_articles and one in language.ones and accompanying in language.accompanying
    )
