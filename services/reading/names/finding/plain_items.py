"""The plain item of a category, where only its size and choices are said: "a large with ham and pineapple",
where all of that goes on a pizza."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace

from schemas.menu import Item, Menu
from services.reading.chart.span import SHORT, Span
from services.reading.chart.tokens import Utterance, fold, folded, span
from services.reading.language.language import language_of

# Names of items that hold a word, with their ids.
Named = Callable[[str], Iterable[tuple[tuple[str, ...], str]]]
# By a group of options: what follows its sort in names of items that come with it, and whose names these are.
Sorted = Callable[[str], Mapping[tuple[str, ...], str]]


def plain_items(
    tokens: Utterance, mentions: list[Span], menu: Menu, named: Named, sort_of: Sorted
) -> Iterator[Span]:
    """The plain item of a category where a size and choices of it are said, and nothing that has them: at
    the place of the size."""
    implied: set[int] = set()
    for at, size in enumerate(mentions):
        if size.kind != "size" or not _led(tokens, span(tokens, size)[0]):
            continue
        before, own = mentions[:at], _choices(mentions[at + 1 :])
        if not own or _has_item_after(tokens, own, mentions[at + 1 + len(own) :]):
            continue
        if _is_of_another(size, before, menu):
            continue
        sole = _sole(size, menu) or _of_the_sort(own, menu, sort_of)
        if sole:
            fits = [] if _is_said(sole, mentions) else _that_come_in(sole, size, own)
        elif _is_said_again(before, implied):
            fits = []
        else:
            fits = _plain(size, own, menu, named)
        if len(fits) == 1:
            implied.add(size.start)
            sku, on = fits[0].sku, (size, *own)
            yield replace(size, kind="item", ids=(sku,), score=SHORT, rule="implied", on=on)


def _plain(size: Span, own: list[Span], menu: Menu, named: Named) -> list[Item]:
    """The plain items that come in a size and with choices, of which one is theirs only."""
    if _begins(own[0], menu, named):
        return []
    fits = _that_come_in(_bases(menu, named), size, own)
    return fits if len(fits) == 1 and _only_of(fits[0], own, menu) else []


def _has_item_after(tokens: Utterance, own: list[Span], after: list[Span]) -> bool:
    """Whether choices lead to an item that is said after them."""
    return bool(after) and not _closed(tokens, own[-1], after[0])


def _is_of_another(size: Span, before: list[Span], menu: Menu) -> bool:
    """Whether a size may be that of an item before it, which comes in it."""
    return any(m.kind == "item" and {*size.ids} & _sizes(m, menu) for m in before)


def _is_said(sole: list[Item], mentions: list[Span]) -> bool:
    """Whether the item that a size could imply is said itself: "a quart of rocky road, hand packed"."""
    return any(m.kind == "item" and item.sku in m.ids for m in mentions for item in sole)


def _is_said_again(before: list[Span], implied: set[int]) -> bool:
    """Whether a size may take the place of one before it: "a large pepperoni, sorry, extra large"."""
    return any(m.kind == "size" and m.start not in implied for m in before)


def _that_come_in(items: list[Item], size: Span, choices: list[Span]) -> list[Item]:
    """The items that come in a size, and with each of the choices."""
    return [
        item
        for item in items
        if {*size.ids} & {*item.size_ids} and all({*item.option_groups} & {*m.groups} for m in choices)
    ]


def _sole(size: Span, menu: Menu) -> list[Item]:
    """The only item that comes in a size: "a pint of vanilla", where only ice cream to go does."""
    owners = [item for item in menu.items if {*size.ids} & {*item.size_ids}]
    return owners if len(owners) == 1 else []


def _of_the_sort(own: list[Span], menu: Menu, sort_of: Sorted) -> list[Item]:
    """The only item that is called as the sort of a choice: a "large haddock", where there is just fish."""
    skus = {sort_of(group).get(()) for choice in own[:1] for group in choice.groups} - {None}
    return [item for item in menu.items if skus == {item.sku}]


def _choices(mentions: list[Span]) -> list[Span]:
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


def _sizes(mention: Span, menu: Menu) -> set[str]:
    return {size for item in items_of(mention, menu) for size in item.size_ids}


def _led(tokens: Utterance, at: int) -> bool:
    """Whether a line may begin before a size."""
    if at == 0 or tokens[at - 1].after:
        return True
    word, said = tokens[at - 1].folded, tokens.language
    return word.isdigit() or word in said.articles or word in said.conjunctions or word in said.fillers


def _closed(tokens: Utterance, last: Span, after: Span) -> bool:
    """Whether a joint, a pause, an article or a number parts choices from the item after them, if any."""
    if after.kind != "item":
        return True
    start, end = span(tokens, last)[1], span(tokens, after)[0]
    parting = tokens.language.conjunctions | tokens.language.indefinite_articles
    parts = any(t.folded in parting or t.folded.isdigit() for t in tokens[start:end])
    return parts or any(t.after for t in tokens[start - 1 : end])


def _begins(choice: Span, menu: Menu, named: Named) -> bool:
    """Whether an item's name begins as a choice's does: "a large pep", where there is a pepperoni pizza."""
    meant = {*zip(choice.groups, choice.ids, strict=True)}
    names = [
        folded(option.name, language_of(menu))
        for group in menu.option_groups
        for option in group.options
        if (group.id, option.id) in meant
    ]
    return any(known[: len(said)] == said and known != said for said in names for known, _ in named(said[0]))


def _only_of(base: Item, own: list[Span], menu: Menu) -> bool:
    """Whether one of the choices goes with nothing but things of this category."""
    others = {g for item in menu.items if item.category != base.category for g in item.option_groups}
    return any(not others & {*mention.groups} for mention in own)


def items_of(mention: Span, menu: Menu) -> list[Item]:
    """The items that a name may mean."""
    return [item for sku in mention.ids if (item := menu.item(sku)) is not None]
