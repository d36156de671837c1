"""Generate orders with known carts for any menu, from a seed.

Combines items, sizes, options, amounts, counts, splits, corrections and hesitations freely, which a
hand-written set can't. Every order is unambiguous, so its cart is right by construction.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

from schemas.cart import Line, OptionLine
from schemas.menu import Item, Menu, Option, OptionGroup, Size

Choice = tuple[str, str, str, str]  # group, option, amount, the words

COUNTS = {
    1: ("a", "one", "1"),
    2: ("two", "2", "a couple of"),
    3: ("three", "3"),
    4: ("four",),
    5: ("five",),
    6: ("six", "half a dozen"),
}
AMOUNTS = {
    "normal": ("{}",),
    "extra": ("extra {}", "a lot of {}"),
    "light": ("light {}", "a little {}", "easy on the {}"),
    "none": ("no {}", "without {}", "hold the {}"),
}
OPENINGS = (
    "", "", "can i get ", "i would like ", "i'll have ", "uh hi could i please get ", "give me ",
    "hey there, ", "so i think i want ", "yeah ", "order for ", "we'd like ", "can we do ",
)  # fmt: skip
CLOSINGS = ("", "", "", " please", ", thanks", " and thats it", " thank you so much", " for here", " to go")
JOINTS = (" and ", ", ", ", and ", ". then ", " plus ", " and also ", ". ")
HESITATIONS = ("uh", "um", "like", "you know", "uhm", "er", "let me see", "i guess")


@dataclass
class Speaker:
    """A customer; `dice` makes every choice."""

    menu: Menu
    dice: random.Random
    items: list[Item] = field(init=False)

    def __post_init__(self) -> None:
        self.items = [item for item in self.menu.items if item.available]

    def order(self) -> tuple[str, list[Line]]:
        """Return an utterance and its cart lines."""
        ways: Sequence[Callable[[], tuple[str, list[Line]]]] = (
            self._several, self._several, self._parted, self._added, self._shared, self._rethought,
            self._removed,
        )  # fmt: skip
        words, lines = self.dice.choice(ways)()
        return self._hesitant(self.dice.choice(OPENINGS) + words + self.dice.choice(CLOSINGS)), lines

    def _several(self) -> tuple[str, list[Line]]:
        parts = [
            self._line(item) for item in self.dice.sample(self.items, self.dice.choice((1, 1, 1, 2, 2, 3)))
        ]
        words = parts[0][0] + "".join(self.dice.choice(JOINTS) + said for said, _ in parts[1:])
        return words, [line for _, line in parts]

    def _parted(self) -> tuple[str, list[Line]]:
        """Several of one item that differ in an option or size."""
        item, choices = self._with_choices(2)
        size, said = self._size(item)
        (first, _), (second, _) = ((c, c[1]) for c in choices)
        names = plural(self._name(item))
        if len(item.size_ids) > 1 and self.dice.random() < 0.4:
            one, other = self.dice.sample(item.size_ids, 2)
            words = f"two {names}, one {self._size_word(one)} and one {self._size_word(other)}"
            return words, [line(item, 1, one), line(item, 1, other)]
        if self.dice.random() < 0.5:
            words = f"two {said}{names}, one with {first[3]}"
            return words, [line(item, 1, size, first), line(item, 1, size)]
        words = f"three {said}{names}, two with {first[3]} and the rest with {second[3]}"
        return words, [line(item, 2, size, first), line(item, 1, size, second)]

    def _added(self) -> tuple[str, list[Line]]:
        """ "Two large cokes and a small one": an additional one, not one of the two."""
        item = self.dice.choice([i for i in self.items if len(i.size_ids) > 1])
        one, other = self.dice.sample(item.size_ids, 2)
        count, more = self.dice.choice((1, 2, 3)), self.dice.choice((1, 2))
        end = self.dice.choice(("", " one" if more == 1 else " ones"))
        words = f"{self._counted(count, self._size_word(one), item)} and "
        words += f"{self._count(more, self._size_word(other))} {self._size_word(other)}{end}"
        return words, [line(item, count, one), line(item, more, other)]

    def _shared(self) -> tuple[str, list[Line]]:
        item, (choice,) = self._with_choices(1)
        count = self.dice.choice((2, 3, 4))
        size, said = self._size(item)
        sharing = self.dice.choice(("both", "each") if count == 2 else ("all", "each"))
        words = (
            f"{self.dice.choice(COUNTS[count])} {said}{plural(self._name(item))}, {sharing} with {choice[3]}"
        )
        return words, [line(item, count, size, choice)]

    def _rethought(self) -> tuple[str, list[Line]]:
        """A size or number corrected at once."""
        item = self.dice.choice([i for i in self.items if len(i.size_ids) > 1])
        one, other = self.dice.sample(item.size_ids, 2)
        if self.dice.random() < 0.5:
            turn = self.dice.choice((", no, make that ", ", actually make it ", ", sorry, "))
            return f"a {self._size_word(one)} {self._name(item)}{turn}{self._size_word(other)}", [
                line(item, 1, other)
            ]
        turn = self.dice.choice((", no, {}", ", no wait, {}", ", actually make that {}"))
        return self._counted(2, self._size_word(one), item) + turn.format("three"), [line(item, 3, one)]

    def _removed(self) -> tuple[str, list[Line]]:
        """One of several lines cancelled by its name."""
        words, lines = self._several()
        gone = self.dice.randrange(len(lines))
        item = self.menu.item(lines[gone]["sku"])
        if len(lines) < 2 or item is None:
            return words, lines
        turn = self.dice.choice((". actually scratch the {}", ", no, forget the {}", ". cancel the {}"))
        return words + turn.format(item.name), [other for i, other in enumerate(lines) if i != gone]

    def _line(self, item: Item) -> tuple[str, Line]:
        count = min(self.dice.choices((1, 2, 3, 4, 5, 6), (60, 20, 8, 4, 4, 4))[0], item.max_quantity)
        size, said = self._size(item)
        words = self._counted(count, said.strip(), item)
        choices = self._choices(item, self.dice.choices((0, 1, 2, 3), (40, 35, 17, 8))[0])
        if choices:
            # "Without lettuce and tomato" excludes both, so wanted options come first.
            choices.sort(key=lambda choice: choice[3].startswith(("without", "hold")))
            phrases = [choice[3] for choice in choices]
            lead = (
                ""
                if choices[0][2] == "none" or phrases[0].startswith("easy")
                else self.dice.choice(("with ", "and add "))
            )
            words += f" {lead}{', '.join(phrases[:-1])}{' and ' if phrases[1:] else ''}{phrases[-1]}"
        return words, line(item, count, size, *choices)

    def _counted(self, count: int, size: str, item: Item) -> str:
        name = self._name(item) if count == 1 else plural(self._name(item))
        named = f"{size} {name}".strip()
        return f"{self._count(count, named)} {named}"

    def _count(self, count: int, following: str) -> str:
        word = self.dice.choice(COUNTS[count])
        return "an" if word == "a" and following[0] in "aeiou" else word

    def _size(self, item: Item) -> tuple[str | None, str]:
        # "Six wings" can mean a six-piece, so items with such sizes always name one.
        pieces = any(w in self._size_word(size) for size in item.size_ids for w in ("piece", "dozen"))
        if not item.size_ids or (self.dice.random() < 0.25 and not pieces):
            return None, ""
        size = self.dice.choice(item.size_ids)
        return size, f"{self._size_word(size)} "

    def _size_word(self, size_id: str) -> str:
        size = self.menu.size(size_id)
        return self._name(size) if size else ""

    def _choices(self, item: Item, wanted: int) -> list[Choice]:
        groups = [group for group in self.menu.option_groups if group.id in item.option_groups]
        pairs = [(g, o) for g in groups for o in g.options if o.available]
        found: list[Choice] = []
        for group, option in self.dice.sample(pairs, min(wanted, len(pairs))):
            taken = any(choice[0] == group.id for choice in found)
            if not (taken and group.choose == "one") and not any(c[1] == option.id for c in found):
                found.append(self._choice(group, option))
        return found

    def _choice(self, group: OptionGroup, option: Option, *, plain: bool = False) -> Choice:
        once = plain or group.choose == "one"
        amount = "normal" if once else self.dice.choices(list(AMOUNTS), (6, 2, 1, 2))[0]
        name = self._name(option)
        said = self.dice.choice(AMOUNTS[amount]).format(name)
        others = (other for other in group.options if other is not option)
        if amount == "extra" and any(said in (other.name, *other.aliases) for other in others):
            said = f"a lot of {name}"  # this menu has another option called "extra ..."
        return group.id, option.id, amount, said

    def _with_choices(self, wanted: int) -> tuple[Item, list[Choice]]:
        """Return an item with `wanted` options of normal amount."""
        while True:
            item = self.dice.choice(self.items)
            groups = {group.id: group for group in self.menu.option_groups if group.id in item.option_groups}
            pairs = [(g, o) for g in groups.values() for o in g.options if o.available]
            if len(pairs) >= wanted:
                drawn = self.dice.sample(pairs, wanted)
                return item, [self._choice(group, option, plain=True) for group, option in drawn]

    def _name(self, part: Item | Size | Option) -> str:
        name = self.dice.choice((part.name, part.name, *part.aliases))
        # "A bowl of grits" names a size if there are cups and bowls.
        sized = isinstance(part, Item) and any(
            name.startswith(f"{word} of ")
            for size in self.menu.sizes
            if size.id in part.size_ids
            for word in (size.name, *size.aliases)
        )
        return part.name if sized else name

    def _hesitant(self, words: str) -> str:
        said = words.split(" ")
        for _ in range(self.dice.choice((0, 0, 1, 2))):
            pause = self.dice.choice(HESITATIONS) + self.dice.choice(("", ","))
            said.insert(self.dice.randrange(len(said) + 1), pause)
        return " ".join(said)


def line(item: Item, quantity: int, size: str | None, *choices: Choice) -> Line:
    """Return a gold cart line."""
    options: list[OptionLine] = [
        {"group": group, "id": ref, "amount": amount, "count": 1} for group, ref, amount, _ in choices
    ]
    return {"sku": item.sku, "quantity": quantity, "size": size, "options": options}


def plural(name: str) -> str:
    """Return the plural."""
    if name.endswith("s"):
        return name
    if name.endswith(("ch", "sh")):
        return name + "es"
    return name[:-1] + "ies" if name.endswith("y") and name[-2] not in "aeiou" else name + "s"
