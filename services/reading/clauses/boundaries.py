"""Where a clause begins though nobody pauses: before the words that lead to another item, to the next part
of a split, or to something more about what was named.
"""

from __future__ import annotations

from collections.abc import Collection

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.tokens import Utterance
from services.reading.clauses.placings import runs
from services.reading.language.english import AMOUNTS, AND, FILLERS, VESSELS
from services.reading.language.turns import (
    AGAIN,
    AS_IT_IS,
    EACH,
    HALF_OF,
    ONES,
    ORDINALS,
    TELLING,
    THE_OTHER,
    THEIRS,
)
from services.reading.values.numbers import MULTIPLES, number_value

_POLITE = frozenset("please thanks thank you".split())
# Stand between a number, or "both", and what is said of that part.
_BEFORE_PART = AMOUNTS.keys() | frozenset(
    "of with without no in on a an the them those em get gets have has are come just".split()
)
_ARTICLES = frozenset("a an another".split())
# Stand between a number or article and the item that it leads to.
_LEADING = frozenset("of the more those big nice".split())
_POINTING = frozenset("the that this either my just only".split())
_NO_ITEM_AFTER = frozenset("on in for to of with".split())


class Boundaries:
    """Tells where clauses begin. `inside` are the tokens of names, `odd` those that nothing accounts for."""

    def __init__(self, tokens: Utterance, names: list[Name], odd: Collection[int]) -> None:
        self._tokens, self._names, self._odd = tokens, names, odd
        self.inside = {i for name in names for i in range(name.start, name.end)}
        placed = runs(tokens, names)
        # No joint or part of its own: the middle of a run of choices.
        self.within = {i for low, high in placed for i in range(low + 1, high)}
        self._things: set[int] = set()  # where words lead to what can be no choice of anything
        self._leads = self._to_items() | self._to_unknown() | {i for pair in placed for i in pair}

    def at(self, i: int, start: int) -> bool:
        """Whether a clause begins at `i`, where the one before began at `start`."""
        if i in self._leads and i > start and self._goes_on(start, i):
            return True
        if i not in self.within and self._next_part(start, i):
            return True
        other = any(token.folded in THE_OTHER for token in self._tokens[start:i])
        if not other and phrase_end(self._tokens, i, AGAIN) is not None and self._holds(start, i):
            return True
        verb = (i not in self.inside and self._tokens[i].folded in TELLING) or self._prepares(i)
        return verb and self._named(start, i)

    def _to_items(self) -> set[int]:
        """Where the words that lead to an item begin: its number or article, its sizes and options."""
        starts = {name.end: name for name in self._names}
        found = set()
        for item in (n for n in self._names if n.of("item")):
            at, sized = item.start, False
            while at > 0 and not self._tokens[at - 1].after:
                before = starts.get(at)
                word = self._tokens[at - 1].folded
                if before is not None and before.start < at and before.of("item") is None:
                    if sized and before.of("size") is None and not self._opens(before.start, starts):
                        break  # "oat milk small mocha"
                    sized = sized or before.of("size") is not None
                    at = before.start
                elif word in ("a", "an") or number_value(word) is not None:
                    at -= 1
                    if word not in MULTIPLES:
                        break  # "ten single pieces of salmon" goes on
                elif word == "of" and at > 1 and self._tokens[at - 2].folded in VESSELS:
                    at -= 2  # "a side of fries"
                elif word in _LEADING:
                    at -= 1
                    if word == "the" and self._tokens[at - 1].folded != "of":
                        break  # what is said before it is of another: "no ice the root beer light ice"
                else:
                    break
            while at < item.start and self._tokens[at].folded in _LEADING:
                at += 1
            found.add(at)
            if item.of("option") is None:
                self._things.add(at)
        return found

    def _opens(self, at: int, ends: dict[int, Name]) -> bool:
        """Whether a choice before a size leads to the item ("a decaf large coffee"), and ends no list
        before it."""
        if at == 0 or self._tokens[at - 1].after:
            return True
        word = self._tokens[at - 1].folded
        return word in _ARTICLES or word.isdigit() or (word in AND and at - 1 not in ends)

    def _to_unknown(self) -> set[int]:
        """Where an article or number leads to something that nothing accounts for: "a plate of nachos"."""
        found = set()
        for at in self._odd:
            first = at
            while (
                first > 1
                and self._tokens[first - 1].folded in VESSELS | {"of"}
                and not self._tokens[first - 1].after
            ):
                first -= 1
            word = self._tokens[first - 1].folded if first else ""
            if (
                at not in self.inside
                and first - 2 in self.inside
                and not self._tokens[first - 1].after
                and word in ("a", "an")
            ):
                found.add(first - 1)
        return found

    def _next_part(self, start: int, i: int) -> bool:
        """ "One small one large", "with soy both of them iced": a number, an article before a size or a
        word of sharing begins the next part, where names stand on both sides of it."""
        end = i
        passed = _POLITE | (ONES if self._tokens[i].folded in EACH else frozenset())
        if self._tokens[i].folded.isdigit() and [t.folded for t in self._tokens[i + 1 : i + 2]] == ["with"]:
            passed |= {"on"}  # "two with beans on two with gravy"
        while end > start and end - 1 not in self.inside and self._tokens[end - 1].folded in passed:
            end -= 1
        last = next((n for n in reversed(self._names) if start <= n.start and n.end == end), None)
        if (
            i in self.inside
            or last is None
            or self._tokens[i].after
            or self._tokens[last.start - 1].folded == "the"
        ):
            return False
        word, after = self._tokens[i].folded, i + 1
        if number_value(word) is not None and phrase_end(self._tokens, after, AS_IT_IS) is not None:
            return True
        if word in THEIRS and self._tokens[after : after + 1] and self._tokens[after].folded in _BEFORE_PART:
            return True
        pointed = next((n for n in self._names if n.start == after), None) if word == "the" else None
        if (
            pointed is not None
            and self._tokens[pointed.end : pointed.end + 1]
            and self._tokens[pointed.end].folded in ONES
        ):
            return True  # "one small the large one with chili sauce"
        if (
            word == "the"
            and self._tokens[after : after + 1]
            and self._tokens[after].folded in {*THE_OTHER, *ORDINALS}
        ):
            return True
        if phrase_end(self._tokens, i, HALF_OF) is not None:
            return True
        while (
            after < len(self._tokens)
            and after not in self.inside
            and self._tokens[after].folded in _BEFORE_PART
        ):
            after += 1
        if (
            after < len(self._tokens)
            and after not in self.inside
            and number_value(self._tokens[after].folded) is not None
        ):
            after += 1  # "one with two ranches", "one gets two extra shots"
            after += after < len(self._tokens) and self._tokens[after].folded in AMOUNTS
        following = [n for n in self._names if n.start == after and (n.of("option") or not n.of("item"))]
        if number_value(word) == 1 and last.of("size") and self._tokens[last.start - 1].folded in _ARTICLES:
            return False  # "a small one with cream"
        if word in ("a", "an"):
            return any(n.of("size") for n in following)
        return bool(following) and (number_value(word) is not None or word in EACH)

    def _prepares(self, at: int) -> bool:
        """Whether something is done at `at` to what was named before: "toast them both"."""
        told = self._tokens[at].folded.endswith("ed") and not self._tokens[at].after
        told = told and not any(n.start < at < n.end for n in self._names)  # "hard boiled all of them"
        return (
            told
            and at + 1 < len(self._tokens)
            and self._tokens[at + 1].folded in self._tokens.language.objects_of_making
        )

    def _holds(self, start: int, at: int) -> bool:
        """Whether nothing but little words stands between the last name of a clause and `at`."""
        last = max((n.end for n in self._names if start <= n.start and n.end <= at), default=None)
        return last is not None and all(token.folded in FILLERS for token in self._tokens[last:at])

    def _goes_on(self, start: int, at: int) -> bool:
        """Whether something was named before the words that lead to another item; "whip on a mocha" is
        one."""
        named = self._named(start, at)
        led = self._tokens[at].folded in _ARTICLES or self._tokens[at].folded.isdigit()
        named = named or (
            led and at - 1 in self._odd and at - 2 >= start and self._tokens[at - 2].folded in _ARTICLES
        )
        before = at - 1
        while before > start and self._tokens[before].folded in _POINTING:
            before -= 1
        word = self._tokens[before].folded
        beside = word == "with" and at in self._things and self._ordered(start, before)
        return named and not word.endswith("ed") and (beside or word not in _NO_ITEM_AFTER)

    def _ordered(self, start: int, at: int) -> bool:
        """Whether an item is named, to which nothing but another item can be added: "a pizza with a coke"."""
        return any(start <= n.start and n.end <= at and n.of("item") for n in self._names)

    def _named(self, start: int, at: int) -> bool:
        return any(start <= n.start and n.end <= at for n in self._names)
