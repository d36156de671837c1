"""The shorter ways to say one name of a menu, whether or not another name could be meant by them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from services.reading.effort import charge
from services.reading.language.language import Language
from services.reading.names.short_words import Foods

Words = tuple[str, ...]
# By word, whose names hold it: kind, group and id.
Held = Mapping[str, set[tuple[str, str, str]]]
# A shorter way to say a name, and whether it leaves out what sort of thing it is.
Form = tuple[Words, bool]


class BoardName(NamedTuple):
    """One of a menu's names: its words, folded, and whose it is. `sort` is the item's category, or the last
    word of the option's group ("bread"). `alone` says that one word may be enough: of a brand the first
    ("Doritos Nacho Cheese"), of a group of which one is chosen what tells it from the rest ("dark roast")."""

    words: Words
    kind: str
    group: str
    ref: str
    alone: bool = False
    sort: Words = ()
    aliases: tuple[Words, ...] = ()


class Forms:
    """Shortens the names of one menu, whose words are `held` by its names."""

    def __init__(self, held: Held, said: Language) -> None:
        self._held, self._said, self._foods = held, said, Foods(said)

    def of(self, name: BoardName) -> Iterator[Form]:
        """Every shorter way to say a name."""
        if name.kind == "item":
            yield from self._of_brand(name) if self._is_brand(name) else self._of_item(name)
            return
        forms = list(self._of_option(name))
        yield from forms
        if self._said.choice_sorts.issuperset(name.sort) and name.words[-1:] != name.sort:
            # "White bread", where the group is called bread.
            yield from (((*words, *name.sort), bare) for words, bare in [*forms, (name.words, False)])

    def _is_brand(self, name: BoardName) -> bool:
        known = name.words[0] not in self._foods.things
        return name.alone and bool(name.words[1:]) and self._is_own(name.words[0]) and known

    def _of_brand(self, name: BoardName) -> Iterator[Form]:
        """ "Doritos"; what follows is their flavour."""
        yield name.words[:1], True

    def _of_item(self, name: BoardName) -> Iterator[Form]:
        words = self._unpacked(name.words)
        yield from self._without_holder(name)
        if words[1:] and words[-1] in self._said.dish_sorts:
            yield from self._item_without_sort(words[:-1])
            yield from self._nearer_its_sort(words[:-1], words[-1])
        yield from self._without_category(words, name.sort)
        yield from self._drink_understood(words)
        yield from self._by_both_ends(words)
        yield from self._item_by_its_end(words)
        for alias in name.aliases:
            if alias[-1] != words[-1]:
                yield (*alias, words[-1]), False  # a "jalapeño sausage link", if "jalapeño sausage" is enough

    def _of_option(self, name: BoardName) -> Iterator[Form]:
        words = self._unpacked(name.words)
        yield from self._without_holder(name)
        if words[1:] and words[-1] in self._said.choice_sorts:
            yield from self._option_without_sort(words[:-1], words[-1])
        if name.alone and words[1:]:
            yield from self._by_one_word(words, name.group)
        yield from self._option_by_its_end(words)

    def _without_holder(self, name: BoardName) -> Iterator[Form]:
        """A "milk carton" as milk, a "lemon slice" as lemon."""
        words = self._unpacked(name.words)
        if words != name.words and self._foods.tells(words):
            yield words, True

    def _item_without_sort(self, rest: Words) -> Iterator[Form]:
        """A "turkey" for an oven roasted turkey sub, and a "meatball" for a meatball marinara sub."""
        parts = self._without_praise(rest)
        if len(rest) > 1 and self._is_own(rest[0]):
            parts.append((rest[0],))
        yield from ((part, True) for part in parts if self._foods.tells(part))

    def _nearer_its_sort(self, rest: Words, sort: str) -> Iterator[Form]:
        """A "turkey sub" for an oven roasted turkey sub."""
        parts = [part for part in self._ends(rest) if self._foods.is_same_thing(rest[: -len(part)])]
        if self._said.defining.isdisjoint(rest[1:]):
            parts.append((rest[0],))
        for part in parts:
            if self._foods.tells(part) and self._is_told_by_items(part):
                yield (*part, sort), False

    def _without_category(self, words: Words, category: Words) -> Iterator[Form]:
        """A "watermelon" among the aguas frescas."""
        before = words[: -len(category)] if category and words[-len(category) :] == category else ()
        bundle = not self._said.bundles.isdisjoint(category)
        if self._foods.tells(before) and not self._foods.things.issuperset(before) and not bundle:
            yield before, True

    def _drink_understood(self, words: Words) -> Iterator[Form]:
        """A "chai" for a chai latte."""
        understood = len(words) == 2 and words[1] in self._said.drinks_understood
        if understood and self._is_own(words[0]) and words[0] not in self._foods.things:
            yield words[:1], True

    def _by_both_ends(self, words: Words) -> Iterator[Form]:
        """An "oatmeal cookie", without the raisins."""
        foods = self._foods
        if not words[2:] or not self._said.joints.isdisjoint(words):
            return
        fit = words[-1] not in foods.unfit_ends and words[0] not in foods.unfit_beginnings
        if fit and foods.told_between.isdisjoint(words[1:-1]):
            yield (words[0], words[-1]), False

    def _item_by_its_end(self, words: Words) -> Iterator[Form]:
        """ "Fries" for french fries, and a "muffin" for a blueberry muffin."""
        for part in self._ends(words):
            left_out = words[: -len(part)]
            clear = (
                self._said.omissible.issuperset(left_out)
                or (part[1:] and self._foods.is_same_thing(left_out))
                or part[0] in self._foods.plain_or_none
            )
            if clear and not self._may_be_any(part) and self._names_it(part, left_out):
                yield part, False

    def _may_be_any(self, part: Words) -> bool:
        """Whether any of a sort may be meant: a "chicken pizza" may be any pizza with chicken."""
        of_sort = bool(part[1:]) and part[-1] in self._said.dish_sorts
        return of_sort and not self._is_told_by_items(part[:-1])

    def _option_without_sort(self, rest: Words, sort: str) -> Iterator[Form]:
        """ "Swiss" for Swiss cheese; a garlic sauce is no garlic."""
        parts = self._without_praise(rest)
        for part in parts:
            thing = not part[1:] and part[-1] in self._foods.things
            other = thing and (sort in self._said.made_of or part != parts[0])
            if self._foods.tells(part) and not other:
                yield part, True
        for part in [*self._ends(rest), (rest[0],)]:
            if self._foods.tells(part) and part[1:]:
                yield (*part, sort), False

    def _by_one_word(self, words: Words, group: str) -> Iterator[Form]:
        """ "Dark", where there is a light roast and a dark one; "on wheat"."""
        first, last = words[0], words[-1]
        charge(1 + len(self._held[last]) // 8)
        sorts = {ref for _, of, ref in self._held[last] if of == group}
        said_elsewhere = first in self._foods.ordinary or first in self._said.omissible
        if len(self._held[first]) == 1 and len(first) > 2 and not said_elsewhere and len(sorts) > 1:
            yield (first,), True
        if len(self._held[last]) == 1 and last in self._said.grains:
            yield (last,), True

    def _option_by_its_end(self, words: Words) -> Iterator[Form]:
        for part in self._ends(words):
            left_out = words[: -len(part)]
            praised = part[0] in self._said.heads and self._foods.descriptive.issuperset(left_out)
            if (self._said.omissible.issuperset(left_out) or praised) and self._names_it(part, left_out):
                yield part, False

    def _names_it(self, part: Words, left_out: Words) -> bool:
        return self._foods.tells(part) and self._said.defining.isdisjoint(left_out)

    def _without_praise(self, rest: Words) -> list[Words]:
        """Words as they are, and without those before them that only praise."""
        shorter = (
            part for part in self._ends(rest) if self._foods.descriptive.issuperset(rest[: -len(part)])
        )
        return [rest, *shorter]

    def _unpacked(self, words: Words) -> Words:
        """A name without what the thing comes in."""
        return words[:-1] if words[1:] and words[-1] in self._foods.packing else words

    def _ends(self, words: Sequence[str]) -> list[Words]:
        """What is left of words without the first, the first two ..."""
        joints = self._said.joints
        cuts = (i for i in range(1, len(words)) if words[i] not in joints and words[i - 1] not in joints)
        return [tuple(words[i:]) for i in cuts]

    def _is_own(self, word: str) -> bool:
        """Whether a word tells a thing that no other name of the menu holds."""
        return len(self._held[word]) == 1 and len(word) > 2 and word not in self._foods.no_own_names

    def _is_told_by_items(self, part: Words) -> bool:
        """Whether words are not one that a choice has too."""
        return bool(part[1:]) or all(kind == "item" for kind, *_ in self._held[part[0]])
