"""The names on a menu's board, folded, with whose they are: what the lexicon looks for."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator

from schemas.menu import Item, Menu
from services.reading.chart.tokens import fold, folded
from services.reading.effort import charge
from services.reading.language.language import Language, language_of
from services.reading.names.short_forms import BoardName
from services.reading.names.short_names import Short, short_names

Words = tuple[str, ...]


class Board:
    """Every name and alias of one menu version, and the short forms of names.

    `phrases` are words, kind (`item`, `size`, `option`), group and id; `written` the names as they stand
    there, in small letters; `shorts` the short forms by their first word; `qualifiers` words of sizes and
    options; `long_choices` names of options of three words and more, by their first word; `by_sort` what
    follows the sort of a group's choices in items' names; `offers` the groups of options of each item;
    `choices` what groups of options are called, `generic` words of categories and groups.
    """

    def __init__(self, menu: Menu) -> None:
        self.language = language_of(menu)
        self._sizes = {self._folded(name) for size in menu.sizes for name in (size.name, *size.aliases)}
        self.phrases: list[tuple[Words, str, str, str]] = []
        self.written: dict[tuple[str, str, str], set[str]] = defaultdict(set)
        self._add_names(menu)
        self.names = {words for words, *_ in self.phrases}
        self.by_word: dict[str, set[int]] = defaultdict(set)
        for index, (words, *_rest) in enumerate(self.phrases):
            for word in words:
                self.by_word[word].add(index)
        self.long_choices = _long_choices(self.phrases, self.by_word)
        self.shorts: dict[str, list[Short]] = defaultdict(list)
        for short in short_names(_names(menu), self._kinds(), _beside(menu), self.language):
            self.shorts[short.words[0]].append(short)
        self.qualifiers = {w for words, kind, *_ in self.phrases if kind in ("size", "option") for w in words}
        self.by_sort = _by_sort(menu)
        self.offers = {item.sku: frozenset(item.option_groups) for item in menu.items}
        self.choices = self._group_names(menu)
        general = {item.category for item in menu.items} | {group.name for group in menu.option_groups}
        self.generic = frozenset(word for name in general for word in self._folded(name))

    @property
    def words(self) -> Collection[str]:
        """Every word of a name, folded."""
        return self.by_word.keys()

    def items(self, *words: str) -> list[tuple[tuple[str, ...], str]]:
        """Names of items, folded, that hold each of `words`, and whose they are."""
        held = set.intersection(*(self.by_word.get(word, set()) for word in words))
        names = (self.phrases[index] for index in sorted(held))
        return [(name, ref) for name, kind, _, ref in names if kind == "item"]

    def _folded(self, name: str) -> Words:
        return folded(name, self.language)

    def _add_names(self, menu: Menu) -> None:
        for item in menu.items:
            self._add("item", "", item.sku, (item.name, *item.aliases))
        self.phrases += list(self._lent(menu))
        for size in menu.sizes:
            self._add("size", "", size.id, (size.name, *size.aliases))
        for group in menu.option_groups:
            for option in group.options:
                self._add("option", group.id, option.id, (option.name, *option.aliases))

    def _add(self, kind: str, group: str, ref: str, names: tuple[str, ...]) -> None:
        self.written[kind, group, ref].update(name.casefold() for name in names)
        known = {self._folded(name) for name in names}
        for words in known:
            charge(len(self.language.nicknames) // 8 + len(words))
            if words and not (kind != "size" and self._is_sized(words, known)):
                self.phrases.append((words, kind, group, ref))
                self.phrases += [(nick, kind, group, ref) for nick in _nicknames(words, self.language)]

    def _group_names(self, menu: Menu) -> frozenset[str]:
        """What groups of options are called ("bread"), but for those that are measures ("shots")."""
        last = {fold(group.name.split()[-1], self.language) for group in menu.option_groups}
        return frozenset(last - self.language.measures)

    def _is_sized(self, words: Words, names: set[Words]) -> bool:
        """Whether a name is another one with a size before it, which would be lost in it: "can of cola"."""
        of = self.language.partitive
        parts = ((words[:i], words[i + 1 :]) for i, word in enumerate(words) if word in of)
        return any(size in self._sizes and rest in names for size, rest in parts)

    def _lent(self, menu: Menu) -> Iterator[tuple[Words, str, str, str]]:
        """What can also be chosen with a meal goes by the names that it has there ("rings"), but for one that
        another item's name ends in ("salad"), or that hold a choice of it ("pork fried rice")."""
        chosen: dict[Words, set[Words]] = defaultdict(set)
        for group in menu.option_groups:
            for option in group.options:
                chosen[self._folded(option.name)].update(map(self._folded, option.aliases))
        ends: dict[Words, set[str]] = defaultdict(set)
        for words, _, _, ref in self.phrases:
            charge(len(words) ** 2 // 8)
            for start in range(len(words)):
                ends[words[start:]].add(ref)
        for item in menu.items:
            name, own = self._folded(item.name), None
            for words in sorted(chosen.get(name, ())):
                own = _choices(menu, item) if own is None else own
                held = words[-len(name) :] == name and words[: -len(name)] in own
                if words and ends[words] <= {item.sku} and not held and not self._is_sized(words, {name}):
                    yield words, "item", "", item.sku

    def _kinds(self) -> dict[tuple[str, ...], set[str]]:
        """What each name of the menu is one of."""
        kinds: dict[tuple[str, ...], set[str]] = defaultdict(set)
        for words, kind, group, _ in self.phrases:
            kinds[words].add(group or kind)
        return kinds


def _long_choices(
    phrases: list[tuple[Words, str, str, str]], by_word: dict[str, set[int]]
) -> dict[str, list[Words]]:
    """Names of choices that are too long to be skipped word by word, by their first word."""
    found: dict[str, list[Words]] = {}
    for word, held in by_word.items():
        named = (phrases[index] for index in held)
        long = [words for words, kind, *_ in named if kind == "option" and words[0] == word and words[2:]]
        if long:
            found[word] = long
    return found


def _choices(menu: Menu, item: Item) -> set[Words]:
    """What can be chosen for an item, by every name."""
    groups = [group for group in menu.option_groups if group.id in item.option_groups]
    names = (name for group in groups for o in group.options for name in (o.name, *o.aliases))
    return {folded(name, language_of(menu)) for name in names}


def _names(menu: Menu) -> list[BoardName]:
    """Items and options by the names on the board; a brand with what it comes in ("Fanta Orange") is told by
    its capitals, where most names have none."""
    plain = 2 * sum(item.name[:1].islower() for item in menu.items) > len(menu.items)
    single, language = menu.choose_one, language_of(menu)
    named = []
    for item in menu.items:
        brand = plain and all(word[:1].isupper() for word in item.name.split()[:2])
        aliases = tuple(words for alias in item.aliases if (words := folded(alias, language)))
        words, category = folded(item.name, language), folded(item.category, language)
        named.append(BoardName(words, "item", "", item.sku, brand, category, aliases))
    for group in menu.option_groups:
        sort = folded(group.name.split()[-1], language)
        for option in group.options:
            words = folded(option.name, language)
            named.append(BoardName(words, "option", group.id, option.id, group.id in single, sort))
    return [name for name in named if name.words]


def _by_sort(menu: Menu) -> dict[str, dict[Words, str]]:
    """By a group of options of which one has to be chosen ("type of fish"): what follows its sort in names of
    items that come with it ("fish and chips"). A mushroom pizza is no veggie pizza of mushrooms."""
    single, said = menu.choose_one, language_of(menu)
    needed = [group for group in menu.option_groups if group.required and group.id in single]
    sorts = {group.id: fold(group.name.split()[-1], said) for group in needed}
    found: dict[str, dict[Words, str]] = defaultdict(dict)
    for item in menu.items:
        for words in (folded(name, said) for name in (item.name, *item.aliases)):
            for group in item.option_groups:
                if words[:1] == (sorts.get(group),):
                    found[group][words[1:]] = item.sku
    return found


def _beside(menu: Menu) -> dict[str, set[str]]:
    """By group of options the groups that some item has beside it."""
    beside: dict[str, set[str]] = defaultdict(set)
    for item in menu.items:
        for group in item.option_groups:
            charge(1 + len(item.option_groups) // 16)
            beside[group].update(item.option_groups)
    return beside


def _nicknames(words: Words, said: Language) -> Iterator[Words]:
    """A name with an everyday one in the place of the same in full ("OJ")."""
    for nick, full in said.nicknames.items():
        whole = tuple(full.split())
        for i in range(len(words) - len(whole) + 1):
            if words[i : i + len(whole)] == whole:
                yield (*words[:i], *nick.split(), *words[i + len(whole) :])
