"""Where the words that lead to something begin: its number or article, its sizes and options."""

from __future__ import annotations

from collections.abc import Collection

from services.reading.chart.mentions import Name
from services.reading.chart.tokens import Utterance
from services.reading.values.numbers import number_value


class Leads:
    """Goes back from an item over the words that lead to it."""

    def __init__(self, tokens: Utterance, names: list[Name]) -> None:
        self._tokens, self._words = tokens, tokens.language
        self._ending = {name.end: name for name in names}

    def to(self, item: Name) -> int:
        """The position of the first word that leads to an item."""
        at = self._back_from(item.start)
        while at < item.start and self._tokens[at].folded in self._words.leading:
            at += 1
        return at

    def to_unknown(self, odd: Collection[int], inside: set[int]) -> set[int]:
        """Articles right after a name that lead to something which nothing accounts for (`odd`): "fries a
        plate of nachos". `inside` are the tokens of names."""
        found = set()
        for at in odd:
            if at in inside:
                continue
            first = self._over_vessels(at)
            article = first > 0 and self._tokens[first - 1].folded in self._words.indefinite_articles
            if article and first - 2 in inside and not self._tokens[first - 1].after:
                found.add(first - 1)
        return found

    def _over_vessels(self, at: int) -> int:
        """The first word of "plate of nachos", where `at` is that of the nachos."""
        while at > 1 and self._holding(at - 1) and not self._tokens[at - 1].after:
            at -= 1
        return at

    def _holding(self, at: int) -> bool:
        word = self._tokens[at].folded
        return word in self._words.vessels or word in self._words.partitive

    def _back_from(self, at: int) -> int:
        """Where sizes, options and little words begin that lead to what stands at `at`."""
        sized = False
        while at > 0 and not self._tokens[at - 1].after:
            before = self._ending.get(at)
            if before is not None and before.start < at and before.of("item") is None:
                size = before.of("size") is not None
                if sized and not size and not self._opens(before.start):
                    break  # "oat milk small mocha"
                sized, at = sized or size, before.start
                continue
            steps, further = self._little_words(at)
            at -= steps
            if not further:
                break
        return at

    def _little_words(self, at: int) -> tuple[int, bool]:
        """How many of the words right before `at` lead to it, and whether more may stand before them."""
        words, word = self._words, self._tokens[at - 1].folded
        if word in words.indefinite_articles or number_value(word, words) is not None:
            return 1, word in words.multiples  # "ten single pieces of salmon" goes on
        if word in words.partitive and at > 1 and self._tokens[at - 2].folded in words.vessels:
            return 2, True  # "a side of fries"
        if word not in words.leading:
            return 0, False
        # What is said before a "the" is of another ("no ice the root beer light ice"), but for an "of".
        another = word in words.definite_articles and self._tokens[at - 2].folded not in words.partitive
        return 1, not another

    def _opens(self, at: int) -> bool:
        """Whether a choice before a size leads to the item ("a decaf large coffee"), and ends no list
        before it."""
        if at == 0 or self._tokens[at - 1].after:
            return True
        word = self._tokens[at - 1].folded
        joined = word in self._words.conjunctions and at - 1 not in self._ending
        return word in self._words.indefinites or word.isdigit() or joined
