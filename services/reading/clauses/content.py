"""What one clause of an order says: an item, sizes, options and a number, and what can be told from these and
the words alone, whatever was ordered before."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from schemas.cart import Amount
from schemas.evidence import OptionEvidence
from services.reading.chart.mentions import Name
from services.reading.chart.span import Number, Span
from services.reading.chart.tokens import PAUSES
from services.reading.clauses.clause import Clause
from services.reading.language.language import Language

# The options that one name may mean, of different groups.
Choices = tuple[OptionEvidence, ...]


@dataclass(frozen=True, slots=True)
class Said:
    """An item, sizes, options and a number; `words` are those after the cue, folded."""

    item: Name | None = None
    sizes: tuple[str, ...] = ()
    options: tuple[Choices, ...] = ()
    number: Number | None = None
    words: tuple[str, ...] = ()

    @property
    def skus(self) -> tuple[str, ...]:
        """Items that the name may mean; empty when none is named."""
        mention = self.item.of("item") if self.item is not None else None
        return mention.ids if mention is not None else ()

    @property
    def anything(self) -> bool:
        """Whether a value of any kind was said."""
        return bool(self.item or self.sizes or self.options or self.number)

    @property
    def refuses(self) -> bool:
        """ "No onions, no pickles": whether no option is named that is wished for."""
        return all(o.amounts == (Amount.NONE,) for choices in self.options for o in choices)

    def has(self, words: frozenset[str]) -> bool:
        """Whether one of these words was said."""
        return not words.isdisjoint(self.words)

    def leaves_open(self, language: Language) -> bool:
        """ "Oat milk or soy", "a latte or a mocha"; "no ice or lemon" leaves nothing open."""
        if not self.has(language.alternatives):
            return False
        several = len(self.sizes) + len(self.options) > 1
        several = several or not language.alternatives.isdisjoint((self.words[0], self.words[-1]))
        return several and not (self.options and self.refuses)

    def finds_fault(self, language: Language) -> bool:
        """ "That's too much cheese" orders none."""
        points = bool(self.words) and self.words[0] in language.demonstratives
        return points and self.has(language.excess) and self.item is None

    def counts_anew(self, clause: Clause, language: Language, *, replaces: bool) -> bool:
        """ "Churros for the kids, two orders": a number alone."""
        if self.sizes or self.options or self.has(language.the_other):
            return False
        return replaces or self._is_short(clause, language) or self.has(language.enough)

    def _is_short(self, clause: Clause, language: Language) -> bool:
        """ "Two orders", "just the two", "two of them": little more than the number, after a pause."""
        just = self.has(language.only) and len(self.words) <= 4
        return clause.lead in PAUSES and (len(self.words) <= 2 or just or self._of_them(language))

    def _of_them(self, language: Language) -> bool:
        if len(self.words) != 3:
            return False
        _, of, them = self.words
        return of in language.partitive and them in language.plural_pronouns


def meant(mention: Span, heard: list[OptionEvidence]) -> Choices:
    """Which of the options that were heard a name may mean."""
    pairs = set(zip(mention.groups, mention.ids, strict=True))
    return tuple(o for o in heard if (o.group, o.id) in pairs)


def refused(choices: Choices) -> Choices:
    """The same options, with none of them wished for."""
    return tuple(o.model_copy(update={"amounts": (Amount.NONE,), "counts": (1,)}) for o in choices)


def as_choices(options: Mapping[tuple[str, str], tuple[Amount, int]]) -> tuple[Choices, ...]:
    """Options that a line has, as one that names them would say them."""
    return tuple(
        (OptionEvidence(group=group, id=ref, amounts=(amount,), counts=(count,)),)
        for (group, ref), (amount, count) in options.items()
    )
