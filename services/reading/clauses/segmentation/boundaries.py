"""Where a clause begins though nobody pauses: before the words that lead to another item, to the next part
of a split, or to something more about what was named.
"""

from __future__ import annotations

from collections.abc import Collection

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.tokens import Utterance
from services.reading.clauses.segmentation.leads import Leads
from services.reading.clauses.segmentation.parts import Parts
from services.reading.clauses.segmentation.placings import runs


class Boundaries:
    """Tells where clauses begin. `inside` are the tokens of names, `odd` those that nothing accounts for."""

    def __init__(self, tokens: Utterance, names: list[Name], odd: Collection[int]) -> None:
        self._tokens, self._names, self._odd = tokens, names, odd
        self._words = tokens.language
        self.inside = {i for name in names for i in range(name.start, name.end)}
        placed = runs(tokens, names)
        # No joint or part of its own: the middle of a run of choices.
        self.within = {i for low, high in placed for i in range(low + 1, high)}
        leads = Leads(tokens, names)
        items = [(leads.to(name), name) for name in names if name.of("item")]
        # Where words lead to what can be no choice of anything.
        self._things = {at for at, name in items if name.of("option") is None}
        unknown = leads.to_unknown(odd, self.inside)
        self._leads = {at for at, _ in items} | unknown | {i for pair in placed for i in pair}
        self._parts = Parts(tokens, names, self.inside)

    def at(self, i: int, start: int) -> bool:
        """Whether a clause begins at `i`, where the one before began at `start`."""
        if i in self._leads and i > start and self._goes_on(start, i):
            return True
        if i not in self.within and self._parts.begin(start, i):
            return True
        return self._same_again(start, i) or (self._tells(i) and self._named(start, i))

    def _same_again(self, start: int, i: int) -> bool:
        """ "A latte the same for him": one more of what was named, but "the other the same" is of two."""
        if any(token.folded in self._words.the_other for token in self._tokens[start:i]):
            return False
        return phrase_end(self._tokens, i, self._words.again) is not None and self._holds(start, i)

    def _tells(self, at: int) -> bool:
        """Whether a verb at `at` begins to say something of what was named before: "put cheese on it"."""
        verb = at not in self.inside and self._tokens[at].folded in self._words.telling
        return verb or self._prepares(at)

    def _prepares(self, at: int) -> bool:
        """Whether something is done at `at` to what was named before: "toasted both of them"."""
        done = self._participle(at) and not self._tokens[at].after
        done = done and not any(n.start < at < n.end for n in self._names)  # "hard boiled all of them"
        return (
            done
            and at + 1 < len(self._tokens)
            and self._tokens[at + 1].folded in self._tokens.language.objects_of_making
        )

    def _participle(self, at: int) -> bool:
        return self._words.participles.search(self._tokens[at].folded) is not None

    def _holds(self, start: int, at: int) -> bool:
        """Whether nothing but little words stands between the last name of a clause and `at`."""
        last = max((n.end for n in self._names if start <= n.start and n.end <= at), default=None)
        return last is not None and all(t.folded in self._words.fillers for t in self._tokens[last:at])

    def _goes_on(self, start: int, at: int) -> bool:
        """Whether something was named before the words that lead to another item; "whip on a mocha" is
        one."""
        if not (self._named(start, at) or self._unknown_before(start, at)):
            return False
        passed = self._words.before_thing
        before = at - 1
        while before > start and self._tokens[before].folded in passed:
            before -= 1
        if self._participle(before):
            return False
        word = self._tokens[before].folded
        if word not in self._words.prepositions:
            return True
        accompanied = word in self._words.accompanying and at in self._things
        return accompanied and self._ordered(start, before)

    def _unknown_before(self, start: int, at: int) -> bool:
        """ "A taco a burger", where nothing accounts for the taco."""
        word = self._tokens[at].folded
        led = word in self._words.indefinites or word.isdigit()
        return (
            led
            and at - 1 in self._odd
            and at - 2 >= start
            and self._tokens[at - 2].folded in self._words.indefinites
        )

    def _ordered(self, start: int, at: int) -> bool:
        """Whether an item is named, to which nothing but another item can be added: "a pizza with a coke"."""
        return any(start <= n.start and n.end <= at and n.of("item") for n in self._names)

    def _named(self, start: int, at: int) -> bool:
        return any(start <= n.start and n.end <= at for n in self._names)
