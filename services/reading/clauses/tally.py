"""The tally of an order while it is told: what stands in the cart so far, and what was said of it last.

A customer speaks of what is already ordered ("make one of them a large", "lose the fries", "the same again
but with soy"), so whoever follows must know what stands, in which group of lines, and which lines the next
words are about.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace

from schemas.cart import Amount
from schemas.evidence import OptionEvidence
from schemas.menu import Menu
from services.reading.chart.tokens import folded
from services.reading.language.language import language_of

Choice = tuple[str, str]  # group and option


@dataclass(slots=True, eq=False)
class Wish:
    """One line as told so far. `at` are the tokens of its name; without `items` it is off the menu."""

    items: tuple[str, ...]
    at: tuple[int, int]
    quantity: int = 1
    size: str | None = None
    options: dict[Choice, tuple[Amount, int]] = field(default_factory=dict)

    def like(self) -> Wish:
        """Another of the same, to be changed."""
        return replace(self, options=dict(self.options))


class Tally:
    """Wishes in the order of the words. `group` are those of the item named last, `rest` what of them is not
    yet told apart, `focus` those that the next words are about, `gone` those that were taken back, and `copy`
    the one that was last ordered as one more of the same."""

    def __init__(self, menu: Menu) -> None:
        self.wishes: list[Wish] = []
        self.group: list[Wish] = []
        self.focus: list[Wish] = []
        self.gone: list[Wish] = []
        self.rest: Wish | None = None
        self.copy: Wish | None = None
        self.parted = False
        self.ever: set[Choice] = set()  # every option that was wished for, taken back or not
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

    def add(self, wish: Wish) -> Wish:
        """Begin a new line, which is then what is spoken of."""
        self.wishes.append(wish)
        self.focus_on(wish)
        return wish

    def beside(self, wish: Wish, after: Wish) -> Wish:
        """Another line of the same item, in the same group."""
        self.wishes.insert(self.wishes.index(after) + 1, wish)
        self.group = [*self.group, wish] if after in self.group else [after, wish]
        self.focus = [wish]
        return wish

    def part(self, whole: Wish, quantity: int) -> Wish:
        """Tell some of a line apart; what is left of it stays where it is."""
        if whole not in self.group:
            self.group, self.rest = [whole], whole
        self.parted = True
        if whole.quantity <= quantity:
            self.focus = [whole]
            self.rest = None if whole is self.rest else self.rest
            return whole
        some = whole.like()
        some.quantity = quantity
        whole.quantity -= quantity
        self.wishes.insert(self.wishes.index(whole), some)
        self.group, self.focus = [*self.group, some], [some]
        return some

    def drop(self, wish: Wish) -> None:
        """Take a line back."""
        self.wishes.remove(wish)
        self.gone.append(wish)
        self.group = [w for w in self.group if w is not wish]
        self.focus = [w for w in self.focus if w is not wish] or self.group or self.wishes[-1:]
        self.group = self.group or self.wishes[-1:]
        self.rest = self.rest if self.rest in self.wishes else None

    def restore(self, wish: Wish) -> None:
        """Put back a line that was taken back."""
        self.gone.remove(wish)
        self.add(wish)

    def clear(self) -> None:
        """Take everything back."""
        for wish in list(self.wishes):
            self.drop(wish)

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

    def focus_on(self, wish: Wish) -> None:
        """Speak of one line from now on."""
        self.group, self.focus, self.rest, self.parted = [wish], [wish], wish, False

    def choice(self, wish: Wish, choices: Iterable[OptionEvidence]) -> OptionEvidence | None:
        """Which of the options that a name may mean the item of a line comes with."""
        return next((option for option in choices if self.offers(wish, option.group)), None)

    def refuses(self, wish: Wish, choices: Iterable[OptionEvidence]) -> bool:
        """Take an option off a line that has it, where it is now refused; False where there is none, and for
        a copy: "the same but without onions" has none, though the first has some."""
        if wish is self.copy:
            return False
        option = self.choice(wish, choices)
        held = option is not None and wish.options.get((option.group, option.id))
        if option is None or not held or held[0] is Amount.NONE or option.amounts != (Amount.NONE,):
            return False
        del wish.options[option.group, option.id]
        return True

    def choose(self, wish: Wish, choices: Iterable[OptionEvidence]) -> None:
        """Give a line an option; of a group that is chosen from once the last word counts."""
        option = self.choice(wish, choices)
        if option is None:
            return
        if option.group in self._single:
            for known in [choice for choice in wish.options if choice[0] == option.group]:
                del wish.options[known]
        self.ever.add((option.group, option.id))
        wish.options[option.group, option.id] = (option.amounts[-1], option.counts[-1])
