"""Words that nothing accounts for: perhaps a wish that was misheard, or for something off the menu.

Whatever is left here sends the order to a human, and is what a second hearing listens for.
"""

from __future__ import annotations

from dataclasses import dataclass

import jellyfish

from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import Utterance, covered, sentences, span
from services.reading.names.lexicon import Lexicon
from services.reading.names.neighbours import unmilked
from services.reading.values.numbers import names_something


def unexplained(
    text: str, tokens: Utterance, mentions: list[Span], numbers: list[Number], names: Lexicon
) -> list[int]:
    """Positions of words that are no name, number, amount, correction or filler: perhaps a wish that was
    misheard. Names of categories and groups ("tea", "syrup") say nothing new beside what they belong to."""
    counted = {i for n in numbers for i in range(n.start, n.end)}
    named = covered(tokens, [m for m in mentions if not m.guessed])
    idle = tokens.language.idle_talk.finditer(text)
    order = _Order(text, tokens, mentions, names, named, counted)
    talk = [*answered(text, tokens, mentions), *(m.span() for m in idle)]
    return [
        at
        for at, token in enumerate(tokens)
        if not (
            at in named or at in counted or order.is_misspelt_filler(at) or unmilked(tokens, at, mentions)
        )
        and not any(low <= token.start < high for low, high in talk)
        and (not order.knows(at) or order.is_out_of_place(at))
    ]


@dataclass(frozen=True, slots=True)
class _Order:
    """The words of an order and what they name and count, at the token positions `named` and `counted`."""

    text: str
    tokens: Utterance
    mentions: list[Span]
    names: Lexicon
    named: set[int]
    counted: set[int]

    def _written(self, at: int) -> str:
        """A word as it was written, without apostrophes."""
        token = self.tokens[at]
        return self.text[token.start : token.end].casefold().replace("'", "").replace("’", "")

    def knows(self, at: int) -> bool:
        """Whether the word is one of ordering, or the menu's for many things."""
        known = self.tokens.language.known_words
        either = (self.tokens[at].folded, self._written(at))
        return any(word in known or word in self.names.generic for word in either)

    def is_misspelt_filler(self, at: int) -> bool:
        """ "Brue me a coffee": the first word is a verb more often than a wish."""
        if at > 0 or len(word := self._written(at)) < 3:
            return False
        return jellyfish.metaphone(word) in self.tokens.language.filler_sounds

    def is_out_of_place(self, at: int) -> bool:
        """Whether a word that is known says here that another was misheard."""
        return (
            names_something(self.tokens, at)
            or self._leads_nowhere(at)
            or self._multiplies_nothing(at)
            or self._stands_on_an_option(at)
            or self._begins_a_name(at)
        )

    def _leads_nowhere(self, at: int) -> bool:
        """Whether a "with" is followed by little words alone: "with may oh" was perhaps a wish."""
        tokens, language = self.tokens, self.tokens.language
        if tokens[at].folded not in language.accompanying or tokens[at].after or at + 1 == len(tokens):
            return False
        for i in range(at + 1, len(tokens)):
            word = tokens[i].folded
            known = i in self.named or i in self.counted or word in language.company
            if known or word not in language.fillers:
                return False
            if tokens[i].after or word in language.conjunctions:
                break
        return True

    def _multiplies_nothing(self, at: int) -> bool:
        """Whether no number is before "times": a "light rose-times coffee" is iced."""
        return self._written(at) in self.tokens.language.multiplying and at - 1 not in self.counted

    def _stands_on_an_option(self, at: int) -> bool:
        """Whether something would stand on an option, of which nothing was said yet: "sweetener and on the
        milk" is almond milk, misheard."""
        tokens, language = self.tokens, self.tokens.language
        opens = at == 0 or bool(tokens[at - 1].after) or tokens[at - 1].folded in language.conjunctions
        on_it = tuple(token.folded for token in tokens[at : at + 2]) in language.standing_on
        if not opens or not on_it or at + 2 >= len(tokens):
            return False
        there = [m for m in self.mentions if m.start == tokens[at + 2].start]
        # "On the thin crust" names it whole, and no crust of another name.
        return {m.kind for m in there} == {"option"} and not any(" " in m.text for m in there)

    def _begins_a_name(self, at: int) -> bool:
        """Whether a little word before an item sounds like what another item's name begins with: a "nice
        coffee" may be an iced one."""
        tokens = self.tokens
        if at + 1 >= len(tokens) or tokens[at].after:
            return False
        items = [m for m in self.mentions if m.kind == "item" and m.start == tokens[at + 1].start]
        return any(
            self.names.begins(tokens[at].folded, tuple(t.folded for t in tokens[slice(*span(tokens, m))]))
            for m in items
        )


def answered(text: str, tokens: Utterance, mentions: list[Span]) -> list[tuple[int, int]]:
    """Where the words [start, end) ask about something that is not on the menu, and order nothing of it:
    "do you have calzones? No? Then a large Hawaiian"."""
    questions = [(s[0].start, s[-1].end) for s in sentences(tokens) if s[-1].after == "?"]
    language = tokens.language
    return [
        (low, high)
        for low, high in questions
        if language.asked.search(text, low, high)
        and not any(low <= m.start < high for m in mentions)
        and not any(t.folded in language.pointing for t in tokens if t.start >= high)
    ]
