"""Words that point at what was ordered before: "the small one", "one of them", "the burger", "both"."""

from __future__ import annotations

from dataclasses import replace

from services.reading.chart.mentions import Name, phrase_end
from services.reading.clauses.clause import Clause, sentence_at
from services.reading.clauses.content import Said
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish
from services.reading.language.english import AMOUNTS, PLAIN
from services.reading.language.turns import (
    ALL_BACK,
    ALL_OF_IT,
    EACH,
    HALF_OF,
    NOTHING,
    ONE_OF,
    ONES,
    ORDINALS,
    POINTING,
)


class Lost(Exception):
    """A clause that can't be followed."""


class Pointer:
    """Finds the lines that a clause is about, and gives them what it says."""

    def __init__(self, listener: Listener, tally: Tally) -> None:
        self._listener, self._tokens, self._tally = listener, listener.tokens, tally

    def give(self, wishes: list[Wish], said: Said, *, undoes: bool = False) -> None:
        """Give the sizes and options of a clause to lines; an option that none of them comes with goes to
        the last line that does. Where it `undoes`, a "no" takes an option off that was wished for before.

        Raises:
            Lost: nothing that was ordered comes with it.
        """
        if not wishes:
            raise Lost
        tally = self._tally
        for size in said.sizes:
            for wish in wishes:
                if tally.sized(wish, size):
                    wish.size = size
                elif tally.sizes(wish):
                    raise Lost
        for choices in said.options:
            fit = [w for w in wishes if tally.choice(w, choices)]
            if not fit:
                fit = [w for w in reversed(tally.wishes) if tally.choice(w, choices)][:1]
            if not fit and not any(option.id in PLAIN for option in choices):
                raise Lost
            for wish in fit:
                if undoes and tally.refuses(wish, choices):
                    continue
                tally.choose(wish, choices)

    def article(self, clause: Clause, until: int) -> bool:
        """Whether "a" or "another" leads to token `until`."""
        return any(t.folded in ("a", "an", "another") for t in self._tokens[clause.body : until])

    def some(self, clause: Clause) -> int | None:
        """How many "one of them" is about; None when no such words are said."""
        for i in range(clause.body, clause.end):
            if phrase_end(self._tokens, i, HALF_OF) is not None:
                return max(1, self._tally.total // 2)
            if phrase_end(self._tokens, i, ONE_OF) is not None:
                return next((n.value for n in self._listener.numbers if n.start == i), 1)
        return None

    def points(self, clause: Clause, said: Said) -> bool:
        """Whether a clause points at what was spoken of ("one of those", "one with no onions")."""
        number = said.number is not None and said.number.value == 1
        return bool(POINTING & set(said.words)) or self.some(clause) is not None or number

    def every(self, clause: Clause, said: Said) -> list[Wish] | None:
        """The lines that "both", "all" and their like are said of."""
        each = next((word for word in said.words if word in EACH or word == "either"), None)
        if "any" in said.words and "of" in said.words:
            each = "all"  # "no mayo on any of them"
        if each is None and said.options and said.words[-1:] in (("them",), ("em",), ("those",)):
            each = "all" if self._tally.total == 1 else None  # "and toast them"
        if each == "each" and said.number is not None and said.number.value < self._tally.total:
            return None  # "two with one scoop each"
        if each is None:
            return None
        group, total = self._tally.group, self._tally.total
        if each in ("both", "either", "each"):
            return list(group) if each == "each" or total == 2 else self._tally.wishes[-2:]
        return self._told_with(clause) or list(self._tally.wishes)

    def _told_with(self, clause: Clause) -> list[Wish]:
        """The several that were ordered in a sentence which goes on with "all with honey"."""
        start, _ = sentence_at(self._tokens, clause.start)
        told = [wish for wish in self._tally.wishes if wish.at[0] >= start]
        return told if clause.lead == "," and sum(wish.quantity for wish in told) > 1 else []

    def refers(self, clause: Clause, said: Said) -> Wish | None:
        """The line meant by "the mocha", "the small one", "the vanilla one", "the first"."""
        words = said.words
        ordinal = next((ORDINALS[w] for w in words if w in ORDINALS and "a" not in words), None)
        before = self._tokens[said.item.start - 1].folded if said.item and said.item.start else ""
        pointed = before in ("the", "that", "those", "these")
        if not {"the", "that", "those", "these"} & set(words) and ordinal is None and not pointed:
            return None
        found: list[Wish] = []
        if said.item is not None:
            found = self._tally.of_item(said.skus)[:1] or self.by_words(said) if pointed else []
            if not found and self._named(clause):
                found = self._held(clause, said)  # "the chicken one", where there is a chicken wrap too
        elif ordinal is not None:
            found = self._nth(ordinal, said.number.value if said.number else 1)
        elif len(self._tally.wishes) > 1:
            found = self._held(clause, said) or self._called(clause)
        some = self.some(clause)
        return self._tally.part(found[0], some) if found and some else found[0] if found else None

    def _nth(self, ordinal: int, number: int) -> list[Wish]:
        """ "The second", or "the last two", of several that were ordered at once, or else the second line."""
        tally, rest = self._tally, self._tally.rest
        group = [wish for wish in tally.wishes if wish in tally.group]
        if tally.total < 2 or ordinal >= tally.total:
            return tally.wishes[ordinal : ordinal + 1 or None]
        each = [wish for wish in group for _ in range(wish.quantity)]
        wish = rest if rest is not None and rest.quantity > 1 else each[ordinal]
        return [tally.part(wish, number)]

    def by_words(self, said: Said) -> list[Wish]:
        """ "Just the coffee" of an iced one, where no other is ordered; "the burger" of a cheeseburger."""
        words = [t.folded for t in self._tokens[said.item.start : said.item.end]] if said.item else []
        wishes = self._tally.wishes if words else []
        found = [w for w in wishes if any({*words} <= self._tally.words(sku) for sku in w.items)]
        if not found and len(words) == 1 and len(words[0]) > 3:
            ending = words[0]
            found = [
                w for w in wishes if any(n.endswith(ending) for s in w.items for n in self._tally.words(s))
            ]
        return found if len(found) == 1 else []

    def by_kind(self, words: tuple[str, ...]) -> list[Wish]:
        """ "The tea", where one of the lines is a tea, though not by the name that it was ordered by."""
        at = next((i for i, word in enumerate(words) if word in ("the", "that", "my")), len(words))
        kind = words[at + 1 : at + 2]
        found = [
            w
            for w in self._tally.wishes
            if kind and any(kind[0] in self._tally.kind(s) | self._tally.words(s) for s in w.items)
        ]
        return found if len(found) == 1 else []

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
        after = self._tokens[name.end].folded if name.end < len(self._tokens) else ""
        lead = tuple(t.folded for t in self._tokens[max(name.start - 3, 0) : name.start])
        last = name is clause.names[-1] and name.end == clause.end and len(clause.names) > 1
        onto = lead[-2:] in (("on", "the"), ("in", "the")) and lead[0] not in AMOUNTS
        return (lead[-1:] == ("the",) and after in ONES) or lead == ("the", "1", "with") or (last and onto)

    def takes_all_back(self, clause: Clause) -> bool:
        """ "Cancel all of that", "we don't need anything"."""
        at = range(clause.body, clause.end)
        if any(phrase_end(self._tokens, i, ALL_BACK) for i in range(clause.start, clause.end)):
            return True
        if clause.cue == "not":
            return bool(NOTHING & {t.folded for t in self._tokens[clause.body : clause.end]})
        return clause.cue == "remove" and any(phrase_end(self._tokens, i, ALL_OF_IT) for i in at)
