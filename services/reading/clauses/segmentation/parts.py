"""Where the next part of a split begins: "one small one large", "with soy both of them iced"."""

from __future__ import annotations

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.tokens import Utterance
from services.reading.values.numbers import number_value


class Parts:
    """Tells where one part ends and the next begins: right after a name, at a number, an article before a
    size, a word of sharing or one that points, where what follows says something of that part. `inside` are
    the tokens of names."""

    def __init__(self, tokens: Utterance, names: list[Name], inside: set[int]) -> None:
        self._tokens, self._names, self._inside = tokens, names, inside
        self._words = tokens.language

    def begin(self, start: int, i: int) -> bool:
        """Whether the next part begins at `i`, in a clause that began at `start`."""
        last = self._named_before(start, i)
        if last is None or i in self._inside or self._tokens[i].after:
            return False
        if self._word(last.start - 1) in self._words.definite_articles:
            return False  # "the large one ..." goes on
        return (
            self._as_it_is(i)
            or self._by_whose(i)
            or self._pointed(i)
            or phrase_end(self._tokens, i, self._words.half_of) is not None
            or self._described(i, last)
        )

    def _named_before(self, start: int, i: int) -> Name | None:
        """The name that ends right before `i`, but for words that belong to no part."""
        word, end = self._word(i), i
        passed = self._words.politeness
        if word in self._words.each:
            passed = passed | self._words.ones
        if word.isdigit() and self._word(i + 1) in self._words.accompanying:
            passed = passed | self._words.placing  # "two with beans on two with gravy"
        while end > start and end - 1 not in self._inside and self._word(end - 1) in passed:
            end -= 1
        return next((n for n in reversed(self._names) if start <= n.start and n.end == end), None)

    def _as_it_is(self, i: int) -> bool:
        """ "One with soy one plain"."""
        counted = number_value(self._word(i), self._words) is not None
        return counted and phrase_end(self._tokens, i + 1, self._words.as_it_is) is not None

    def _by_whose(self, i: int) -> bool:
        """ "Mine with soy his with oat"."""
        return self._word(i) in self._words.theirs and self._word(i + 1) in self._words.before_part

    def _pointed(self, i: int) -> bool:
        """ "One with soy the other with oat", "one small the large one with chili sauce"."""
        if self._word(i) not in self._words.definite_articles:
            return False
        after = self._word(i + 1)
        pointed = next((n for n in self._names if n.start == i + 1), None)
        one = pointed is not None and self._word(pointed.end) in self._words.ones
        return one or after in self._words.the_other or after in self._words.ordinals

    def _described(self, i: int, last: Name) -> bool:
        """Whether a number, an article or a word of sharing at `i` leads to a size or option."""
        word = self._word(i)
        lone = number_value(word, self._words) == 1 and last.of("size") is not None
        if lone and self._word(last.start - 1) in self._words.indefinites:
            return False  # "a small one with cream"
        at = self._described_from(i + 1)
        following = [n for n in self._names if n.start == at and (n.of("option") or not n.of("item"))]
        if word in self._words.indefinite_articles:
            return any(n.of("size") for n in following)
        return bool(following) and (number_value(word, self._words) is not None or word in self._words.each)

    def _described_from(self, at: int) -> int:
        """Where what is said of a part begins, after the little words, the number and the amount before it:
        "one with two ranches", "one gets two extra shots"."""
        while self._free(at) and self._word(at) in self._words.before_part:
            at += 1
        if self._free(at) and number_value(self._word(at), self._words) is not None:
            at += 1
            at += self._word(at) in self._words.amounts
        return at

    def _free(self, at: int) -> bool:
        return at < len(self._tokens) and at not in self._inside

    def _word(self, at: int) -> str:
        """The word at a position; empty past the end."""
        return self._tokens[at].folded if at < len(self._tokens) else ""
