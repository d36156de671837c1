"""What the words of a menu's names tell, joined from the entries of `foods.toml`: whether a word names a
thing, only says what it is like, or tells it from the plain one."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cached_property

from services.reading.language.language import Language


class Foods:
    """The words of dishes in one language. The unions are made once, since each name of a menu is held
    against them."""

    def __init__(self, said: Language) -> None:
        self.said = said

    @cached_property
    def things(self) -> frozenset[str]:
        """Things in their own right: what is made with them may not be called by them alone."""
        return self.said.heads | self.said.staples

    @cached_property
    def plain_or_none(self) -> frozenset[str]:
        """Heads that are the same thing however closely they are named."""
        return self.said.heads - self.said.plain_heads

    @cached_property
    def descriptive(self) -> frozenset[str]:
        """They tell what a thing is like, or praise it."""
        return self.said.qualities | self.said.omissible

    @cached_property
    def distinguishing(self) -> frozenset[str]:
        """Without them a thing is another one."""
        return self.things | self.said.tastes | self.said.defining

    @cached_property
    def packing(self) -> frozenset[str]:
        """What things come in."""
        return self.said.vessels | self.said.measures | self.said.holders

    @cached_property
    def ordinary(self) -> frozenset[str]:
        """Said of many things in an order, so that none goes by them."""
        said = self.said
        little = said.fillers | said.joints | said.measures | said.vessels
        return little | said.amounts.keys() | said.numbers.keys() | said.said_of_many

    @cached_property
    def no_names(self) -> frozenset[str]:
        """Words that name no thing where nothing else does."""
        return (self.descriptive | self.said.defining | self.said.dish_sorts) - self.said.naming_alone

    @cached_property
    def no_own_names(self) -> frozenset[str]:
        """Words that name no thing in the place of a whole name."""
        return self.no_names | self.said.defining | self.said.omissible | self.ordinary

    @cached_property
    def unfit_ends(self) -> frozenset[str]:
        """A name that ends in one of these is not told by its first and last word."""
        return self.said.dish_sorts | self.said.qualities

    @cached_property
    def unfit_beginnings(self) -> frozenset[str]:
        """A name that begins with one of these is not told by its first and last word."""
        return self.descriptive | self.said.defining

    @cached_property
    def told_between(self) -> frozenset[str]:
        """Words that may not be left out between the first and the last word of a name."""
        return self.things | self.said.defining

    def is_same_thing(self, without: Iterable[str]) -> bool:
        """Whether a thing is the same without these words."""
        return self.distinguishing.isdisjoint(without)

    def tells(self, part: Sequence[str]) -> bool:
        """Whether words tell which thing is meant, and not only what it is like."""
        about = all(word in self.no_names or len(word) < 3 or word.isdigit() for word in part)
        return not about and part[-1] not in self.said.joints and part[0] not in self.said.joints
