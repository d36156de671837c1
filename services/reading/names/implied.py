"""Items that are only said through their choices: "two everything bagels", where a bagel is the item and
everything a choice of it, and "a large with ham and pineapple", where all of that goes on a pizza.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from schemas.evidence import Mention
from schemas.menu import Item, Menu
from services.reading.chart.resolve import SHORT
from services.reading.chart.tokens import Utterance, fold, folded, span
from services.reading.language.english import AMOUNTS, AND, ARTICLES, FILLERS
from services.reading.language.language import language_of
from services.reading.names.senses import narrowed
from services.reading.names.sorts import Sorted

_ON = frozenset("on in with".split())
# Names of items that hold a word, with their ids.
Named = Callable[[str], Iterable[tuple[tuple[str, ...], str]]]


def with_implied(
    tokens: Utterance, mentions: list[Mention], menu: Menu, named: Named, sort_of: Sorted
) -> list[Mention]:
    """The mentions, in order, with the items that some of them imply."""
    kept: list[Mention] = []
    for mention in mentions:
        parted = _parted(tokens, mention, kept, menu, named) if mention.kind == "option" else None
        kept += parted or [mention]
    kept += list(_plain_items(tokens, kept, menu, named, sort_of))
    return sorted(kept, key=lambda m: (m.start, m.end))


def _parted(
    tokens: Utterance, mention: Mention, before: list[Mention], menu: Menu, named: Named
) -> list[Mention] | None:
    """A choice whose name ends in that of the item it is of, as both; None where an item before takes it."""
    first, end = span(tokens, mention)
    last = tokens[end - 1]
    skus = {sku for name, sku in named(last.folded) if name == (last.folded,)}
    item = menu.item(skus.pop()) if len(skus) == 1 and end - first > 1 else None
    if item is None:
        return None
    groups = {*mention.groups}
    if not groups & {*item.option_groups} or not _opens(tokens, first, groups, before, menu):
        return None
    cut = tokens[end - 2].end
    words = {"end": cut, "text": mention.text[: cut - mention.start]}
    thing = {"kind": "item", "ids": (item.sku,), "groups": (), "start": last.start}
    thing |= {"text": mention.text[last.start - mention.start :], "score": SHORT, "strong": True}
    return [
        narrowed(mention, {*item.option_groups}).model_copy(update=words),
        mention.model_copy(update=thing),
    ]


def _opens(tokens: Utterance, at: int, groups: set[str], before: list[Mention], menu: Menu) -> bool:
    """Whether a choice is a line of its own, and none of the item before it."""
    sizes = {span(tokens, m)[1]: span(tokens, m)[0] for m in before if m.kind == "size"}
    while at in sizes or (at and tokens[at - 1].folded in AMOUNTS and not tokens[at - 1].after):
        at = sizes.get(at, at - 1)
    counted = at == 0 or tokens[at - 1].folded in ("a", "an") or tokens[at - 1].folded.isdigit()
    start = at - 1 if counted and at else at
    ordered = any(m.kind == "item" for m in before)
    if ordered and start and tokens[start - 1].folded in _ON and not tokens[start - 1].after:
        return False  # "a BLT on an everything bagel"
    # "With bacon and white toast": the bacon may be a choice, and the toast of what that is a choice of.
    choices = {(m.start, m.end) for m in before if m.kind == "option"}
    items = [m for m in before if m.kind == "item"]
    alone = next((i for i in reversed(range(len(items))) if (items[i].start, items[i].end) not in choices), 0)
    takes = any(groups & {*item.option_groups} for m in items[alone:] for item in _items(m, menu))
    return counted or not takes


def _plain_items(
    tokens: Utterance, mentions: list[Mention], menu: Menu, named: Named, sort_of: Sorted
) -> Iterator[Mention]:
    """The plain item of a category where a size and choices of it are said, and nothing that has them: at
    the place of the size."""
    implied: set[int] = set()
    for at, mention in enumerate(mentions):
        if mention.kind != "size" or not _led(tokens, span(tokens, mention)[0]):
            continue
        if any(m.kind == "item" and {*mention.ids} & _sizes(m, menu) for m in mentions[:at]):
            continue  # it may be of that
        own = _choices(mentions[at + 1 :])
        sole = _sole(mention, menu) or _of_the_sort(own, menu, sort_of)
        if any(m.kind == "item" and item.sku in m.ids for m in mentions for item in sole):
            continue  # "a quart of rocky road, hand packed"
        if not sole and any(m.kind == "size" and m.start not in implied for m in mentions[:at]):
            continue  # "a large pepperoni, sorry, extra large"
        after = mentions[at + 1 + len(own) : at + 2 + len(own)]
        if not own or (after and not _closed(tokens, own[-1], after[0])):
            continue
        if not sole and _begins(own[0], menu, named):
            continue
        fits = [
            base
            for base in sole or _bases(menu, named)
            if {*mention.ids} & {*base.size_ids} and all({*base.option_groups} & {*m.groups} for m in own)
        ]
        if len(fits) == 1 and (sole or _only_of(fits[0], own, menu)):
            implied.add(mention.start)
            yield mention.model_copy(update={"kind": "item", "ids": (fits[0].sku,), "score": SHORT})


def _sole(size: Mention, menu: Menu) -> list[Item]:
    """The only item that comes in a size: "a pint of vanilla", where only ice cream to go does."""
    owners = [item for item in menu.items if {*size.ids} & {*item.size_ids}]
    return owners if len(owners) == 1 else []


def _of_the_sort(own: list[Mention], menu: Menu, sort_of: Sorted) -> list[Item]:
    """The only item that is called as the sort of a choice: a "large haddock", where there is just fish."""
    skus = {sort_of(group).get(()) for choice in own[:1] for group in choice.groups} - {None}
    return [item for item in menu.items if skus == {item.sku}]


def _choices(mentions: list[Mention]) -> list[Mention]:
    """The options that mentions begin with."""
    end = next((i for i, m in enumerate(mentions) if m.kind != "option" or m.guessed), len(mentions))
    return mentions[:end]


def _bases(menu: Menu, named: Named) -> list[Item]:
    """Items that are called just as their category is."""
    called = {item.category: (fold(item.category, language_of(menu)),) for item in menu.items}
    plain = {
        (category, sku)
        for category, words in called.items()
        for name, sku in named(words[0])
        if name == words
    }
    return [item for item in menu.items if (item.category, item.sku) in plain]


def _items(mention: Mention, menu: Menu) -> list[Item]:
    return [item for sku in mention.ids if (item := menu.item(sku)) is not None]


def _sizes(mention: Mention, menu: Menu) -> set[str]:
    return {size for item in _items(mention, menu) for size in item.size_ids}


def _led(tokens: Utterance, at: int) -> bool:
    """Whether a line may begin before a size."""
    if at == 0 or tokens[at - 1].after:
        return True
    word = tokens[at - 1].folded
    return word.isdigit() or word in ARTICLES | AND | FILLERS


def _closed(tokens: Utterance, last: Mention, after: Mention) -> bool:
    """Whether a joint, a pause, an article or a number parts choices from the item after them, if any."""
    if after.kind != "item":
        return True
    start, end = span(tokens, last)[1], span(tokens, after)[0]
    parts = [t.folded in AND or t.folded in ("a", "an") or t.folded.isdigit() for t in tokens[start:end]]
    return any(parts) or any(t.after for t in tokens[start - 1 : end])


def _begins(choice: Mention, menu: Menu, named: Named) -> bool:
    """Whether an item's name begins as a choice's does: "a large pep", where there is a pepperoni pizza."""
    meant = {*zip(choice.groups, choice.ids, strict=True)}
    names = [
        folded(option.name, language_of(menu))
        for group in menu.option_groups
        for option in group.options
        if (group.id, option.id) in meant
    ]
    return any(known[: len(said)] == said and known != said for said in names for known, _ in named(said[0]))


def _only_of(base: Item, own: list[Mention], menu: Menu) -> bool:
    """Whether one of the choices goes with nothing but things of this category."""
    others = {g for item in menu.items if item.category != base.category for g in item.option_groups}
    return any(not others & {*mention.groups} for mention in own)
