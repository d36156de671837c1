"""The tally of an order while it is told: what stands in the cart so far, and what was said of it last.

A customer speaks of what is already ordered ("make one of them a large", "lose the fries", "the same again
but with soy"), so whoever follows must know what stands, in which group of lines, and which lines the next
words are about. It is read by all and changed by one: `reducer.py`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from schemas.cart import Amount
from schemas.evidence import OptionEvidence
from schemas.menu import Menu
from services.reading.chart.tokens import folded
from services.reading.clauses.content import Choices, Said
from services.reading.language.language import language_of

Choice = tuple[str, str]  # group and option


@dataclass(slots=True, eq=False)
class Wish:
    """One line as told so far. `at` are the tokens of its name; without `items` it is off the menu. A line
    is named by itself: it stays the same one while what is known of it changes."""

    items: tuple[str, ...]
    at: tuple[int, int]
    quantity: int = 1
    size: str | None = None
    options: Mapping[Choice, tuple[Amount, int]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Expected:
    """What was said and is in no line yet, so that the next clauses may take it up."""

    early: tuple[Said, ...] = ()
    """Said before any item: "four, I mean five, croissants"."""
    head: tuple[int, Said] | None = None
    """How many are still to come, and what holds for all: "three six inch subs, a ham, a tuna and a club"."""
    uncounted: Wish | None = None
    """A plural whose number is still to come: "burgers, two"."""
    anew: bool = False
    """What follows was ordered before, in other numbers: "no, other way round: one coke, two sprites"."""
    asked: Wish | None = None
    """What was asked about: "do you have croissants?"."""
    offered: tuple[Choices, ...] = ()
    """The choices that were asked about: "do you have oat milk?"."""
    pending: bool = False
    """A word of taking back was said, and not yet what takes its place."""
    strong: bool = False
    """That word can only mean so ("scratch that"; "wait" may add something)."""
    freed: bool = False
    """A line was taken back, and its place is free."""
    vacant: bool = False
    """An option was taken back, for another."""
    varies: bool = False
    """What differs is being told: "the same but with tots and a cola"."""


class Tally:
    """Lines in the order of the words. `group` are those of the item named last, `rest` what of them is not
    yet told apart, `focus` those that the next words are about, `gone` those that were taken back, `copy` the
    one that was last ordered as one more of the same, and `ever` every option that was wished for, taken back
    or not. `parted` tells that some of the group were told apart."""

    def __init__(self, menu: Menu) -> None:
        self.wishes: tuple[Wish, ...] = ()
        self.group: tuple[Wish, ...] = ()
        self.focus: tuple[Wish, ...] = ()
        self.gone: tuple[Wish, ...] = ()
        self.rest: Wish | None = None
        self.copy: Wish | None = None
        self.parted = False
        self.ever: frozenset[Choice] = frozenset()
        self.expected = Expected()
        self._items = {item.sku: item for item in menu.items}
        self._single = menu.choose_one
        self._language = language_of(menu)

    @property
    def total(self) -> int:
        """How many there are of the item named last."""
        return sum(wish.quantity for wish in self.group)

    @property
    def standing(self) -> int:
        """How many lines and options there are."""
        return sum(1 + len(wish.options) for wish in self.wishes)

    @property
    def undivided(self) -> Wish:
        """Of the group the line that is not yet told apart, or else that of which there are most."""
        return self.rest or max(self.group, key=lambda wish: wish.quantity)

    def of_item(self, items: Iterable[str]) -> list[Wish]:
        """Lines of one of these items, the last first."""
        wanted = set(items)
        return [wish for wish in reversed(self.wishes) if wanted & set(wish.items)]

    def with_choice(self, choices: Iterable[Choice]) -> list[Wish]:
        """Lines that have one of these options, those spoken of first and then the last first."""
        wanted = set(choices)
        found = [wish for wish in reversed(self.wishes) if wanted & wish.options.keys()]
        return sorted(found, key=lambda wish: wish not in self.focus)

    def held(self, wishes: Iterable[Wish], options: Iterable[Iterable[OptionEvidence]]) -> bool:
        """Whether these lines have each of these options."""
        wanted = [{(o.group, o.id) for o in choices} for choices in options]
        return all(any(choices & wish.options.keys() for wish in wishes) for choices in wanted)

    def groups(self, items: Iterable[str]) -> set[str]:
        """Groups of options that one of these items comes with."""
        return {group for sku in items for group in self._items[sku].option_groups}

    def words(self, sku: str) -> set[str]:
        """The words of an item's name, folded."""
        return set(folded(self._items[sku].name, self._language))

    def kind(self, sku: str) -> set[str]:
        """The words of an item's category and other names, folded."""
        item = self._items[sku]
        return {word for name in (item.category, *item.aliases) for word in folded(name, self._language)}

    def offers(self, wish: Wish, group: str) -> bool:
        """Whether the item of a line comes with a group of options."""
        return group in self.groups(wish.items)

    def sized(self, wish: Wish, size: str) -> bool:
        """Whether the item of a line comes in a size."""
        return size in self.sizes(wish)

    def sizes(self, wish: Wish) -> tuple[str, ...]:
        """The sizes that the item of a line comes in."""
        return tuple(size for sku in wish.items for size in self._items[sku].size_ids)

    def single(self, group: str) -> bool:
        """Whether one option of a group can be chosen, and no more."""
        return group in self._single

    def plain(self, option: OptionEvidence) -> bool:
        """Whether an option only says that nothing is added, which needs no saying."""
        return option.id in self._language.plain

    def choice(self, wish: Wish, choices: Iterable[OptionEvidence]) -> OptionEvidence | None:
        """Which of the options that a name may mean the item of a line comes with."""
        return next((option for option in choices if self.offers(wish, option.group)), None)

    def refused(self, wish: Wish, choices: Iterable[OptionEvidence]) -> Choice | None:
        """The option that a line has, and that is now refused; None where it has none, and for a copy: "the
        same but without onions" has none, though the first has some."""
        option = self.choice(wish, choices) if wish is not self.copy else None
        if option is None or option.amounts != (Amount.NONE,):
            return None
        held = wish.options.get((option.group, option.id))
        return (option.group, option.id) if held is not None and held[0] is not Amount.NONE else None
