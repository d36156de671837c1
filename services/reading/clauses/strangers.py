"""Words that only look as if they named or counted something: "shoot" is no shot, "four of us" no order."""

from __future__ import annotations

from dataclasses import dataclass

from services.reading.chart.mentions import Name, phrase_end
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance
from services.reading.clauses.clause import Clause
from services.reading.language.language import Language
from services.reading.names.lexicon import Lexicon


@dataclass(frozen=True, slots=True)
class Strangers:
    """Tells which names and numbers mean nothing where they stand. `odd` are positions of words that nothing
    accounts for; `settled` the readings that hold where nothing is changed."""

    tokens: Utterance
    settled: list[Span]
    numbers: list[Number]
    odd: frozenset[int]
    lexicon: Lexicon

    @property
    def _words(self) -> Language:
        return self.tokens.language

    def number(self, number: Number) -> bool:
        """Whether a number counts nothing that is wished for: "that one", "we're five people"."""
        after = self.word(number.end)
        follows = self.tokens[number.end].start if after else -1
        if any(m.kind == "item" and m.start == follows for m in self.settled):
            return False
        before = self._right_before(number.start)
        if before in self._words.existing and self._stands(number.end, self._words.of_us):
            return True  # "there's four of us"
        if number.value == 1 and before in self._words.before_pronoun:
            return True
        return after in self._words.unwished or after in self.lexicon.choices

    def name(self, name: Name, clause: Clause) -> bool:
        """Whether words only happen to be like a name: nobody on a diet has a diet cola. A guess counts where
        something leads to it."""
        if all(m.guessed for m in name.readings):
            return self._is_cut_short(name, clause) or not self._is_led_to(name, clause)
        if name.start - 1 in self.odd and not self.tokens[name.start - 1].after and _sounds_alike(name):
            return True  # "hash browns" are no brownies
        before = self._before(name, clause)
        if before in self._words.others and name.of("size") is not None:
            return True  # "for my big guy"
        mention = name.of("item")
        if mention is None or mention.strong or len(name.readings) > 1:
            return False
        return self._is_place(name, clause) or self._is_pronoun(name, mention)

    def _is_cut_short(self, name: Name, clause: Clause) -> bool:
        """ "A corn dog" is no cone: nothing accounts for the word that follows a guess."""
        return name.end < clause.end and name.end in self.odd and not self.tokens[name.end - 1].after

    def _is_led_to(self, name: Name, clause: Clause) -> bool:
        """Whether an amount, a size, a number or a little word leads to a guess, or nothing else is said."""
        words, before = self._words, self._before(name, clause)
        if before in words.amounts or before in words.indefinite_articles:
            return True
        if before in words.accompanying or before in words.conjunctions:
            return True
        sized = any(n.of("size") and n.end == name.start for n in clause.names)
        numbered = any(n.end == name.start and not self.number(n) for n in self.numbers)
        return sized or numbered or (name.start, name.end) == (clause.body, clause.end)

    def _is_place(self, name: Name, clause: Clause) -> bool:
        """ "On a diet": a mere part of a name that says where something is."""
        if name.start - clause.body < 2 or self.tokens[name.start - 2].folded not in self._words.placing:
            return False
        return self.tokens[name.start - 1].folded in self._words.indefinite_articles

    def _is_pronoun(self, name: Name, mention: Span) -> bool:
        """ "It's a hot one" is no hot chocolate, nor is "a hot one" where several are hot."""
        if self.word(name.end) not in self._words.ones:
            return False
        return len(mention.ids) > 1 or self._is_told_of(name)

    def _is_told_of(self, name: Name) -> bool:
        """ "It's a": whether the words before a name say what something is."""
        if name.start < 2:
            return False
        verb, article = self.tokens[name.start - 2].folded, self.tokens[name.start - 1].folded
        return verb in self._words.copulas and article in self._words.indefinite_articles

    def _before(self, name: Name, clause: Clause) -> str:
        """The word right before a name in its clause; empty where it begins it."""
        return self.tokens[name.start - 1].folded if name.start > clause.body else ""

    def _right_before(self, at: int) -> str:
        """The word before a position, with no pause between; else empty."""
        return self.tokens[at - 1].folded if at and not self.tokens[at - 1].after else ""

    def _stands(self, at: int, phrases: tuple[tuple[str, ...], ...]) -> bool:
        return phrase_end(self.tokens, at, phrases) is not None

    def word(self, at: int) -> str:
        """The word at a position; empty past the end."""
        return self.tokens[at].folded if at < len(self.tokens) else ""


def _sounds_alike(name: Name) -> bool:
    """Whether a single word only sounds like a name."""
    return name.end - name.start == 1 and all(m.score < 1 and m.kind == "item" for m in name.readings)
