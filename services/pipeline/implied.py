"""Items that are only said through their choices: "two everything bagels", where a bagel is the item and
everything a choice of it, and "a large with ham and pineapple", where all of that goes on a pizza.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from schemas.evidence import Mention
from schemas.menu import Item, Menu
from services.pipeline.english import AMOUNTS, AND, ARTICLES, FILLERS
from services.pipeline.settling import SHORT
from services.pipeline.words import Token, fold, span, tokenize

_ON = frozenset("on in with".split())
# Names of items that hold a word, with their ids.
Named = Callable[[str], Iterable[tuple[tuple[str, ...], str]]]


def with_implied(tokens: list[Token], mentions: list[Mention], menu: Menu, named: Named) -> list[Mention]:
    """The mentions, with the items that some of them imply."""
    kept: list[Mention] = []
    for mention in mentions:
        parted = _parted(tokens, mention, kept, menu, named) if mention.kind == "option" else None
        kept += parted or [mention]
    kept += list(_plain(tokens, kept, menu, named))
    return sorted(kept, key=lambda m: (m.start, m.end))


def _parted(
    tokens: list[Token], mention: Mention, before: list[Mention], menu: Menu, named: Named
) -> list[Mention] | None:
    """A choice whose name ends in that of the item it is of, as both; None where an item before takes it."""
    first, end = span(tokens, mention)
    if end - first < 2:
        return None
    last = tokens[end - 1]
    skus = [sku for name, sku in named(last.folded) if name == (last.folded,)]
    item = menu.item(skus[0]) if len(set(skus)) == 1 else None
    pairs = [
        (group, ref)
        for group, ref in zip(mention.groups, mention.ids, strict=True)
        if item is not None and group in item.option_groups
    ]
    if item is None or not pairs or not _opens(tokens, first, pairs[0][0], before, menu):
        return None
    text = mention.text
    cut = mention.end - (last.end - last.start)
    choice = mention.model_copy(
        update={
            "ids": tuple(ref for _, ref in pairs),
            "groups": tuple(group for group, _ in pairs),
            "end": tokens[end - 2].end,
            "text": text[: tokens[end - 2].end - mention.start],
        }
    )
    thing = Mention(kind="item", ids=(item.sku,), start=cut, end=mention.end, text=text[cut - mention.start :],
                    score=SHORT, strong=True)
    return [choice, thing]


def _opens(tokens: list[Token], at: int, group: str, before: list[Mention], menu: Menu) -> bool:
    """Whether a choice is a line of its own, and none of the item before it."""
    sizes = {span(tokens, m)[1]: span(tokens, m)[0] for m in before if m.kind == "size"}
    while at in sizes or (at and tokens[at - 1].folded in AMOUNTS and not tokens[at - 1].after):
        at = sizes.get(at, at - 1)
    led = at == 0 or tokens[at - 1].folded in ("a", "an") or tokens[at - 1].folded.isdigit()
    start = at - 1 if led and at else at
    if start and tokens[start - 1].folded in _ON and not tokens[start - 1].after:
        return False
    items = [m for m in before if m.kind == "item"]
    takes = items and any(
        group in item.option_groups for item in menu.items if item.sku in items[-1].ids
    )
    return led or not takes


def _plain(tokens: list[Token], mentions: list[Mention], menu: Menu, named: Named) -> Iterator[Mention]:
    """The plain item of a category where a size and choices of it are said, and nothing that has them:
    at the place of the size."""
    bases, implied = _bases(menu, named), set[int]()
    for at, mention in enumerate(mentions):
        if mention.kind != "size" or any(m.kind == "item" and m.start == mention.start for m in mentions):
            continue
        first, end = span(tokens, mention)
        if any(_sized(m, mention, menu) for m in mentions[:at]) or not _led(tokens, first):
            continue
        if any(m.kind == "size" and m.start not in implied for m in mentions[:at]):
            continue  # "a large pepperoni, sorry, extra large"
        following = mentions[at + 1 :]
        own = []
        for one in following:
            if one.kind != "option" or one.guessed:
                break
            own.append(one)
        after = following[len(own)] if len(own) < len(following) else None
        if after is not None and after.kind == "item" and not _closed(tokens, own, mention, after):
            continue
        fits = [
            base
            for base in bases
            if {*mention.ids} & {*base.size_ids}
            and own
            and all({*base.option_groups} & {*m.groups} for m in own)
        ]
        if len(fits) == 1 and _only_of(fits[0], own, menu) and not _begins(own[0], menu, named):
            implied.add(mention.start)
            yield mention.model_copy(update={"kind": "item", "ids": (fits[0].sku,), "score": SHORT})


def _bases(menu: Menu, named: Named) -> list[Item]:
    """Items that are called just as their category is."""
    return [
        item
        for item in menu.items
        if any(name == (fold(item.category),) and sku == item.sku for name, sku in named(fold(item.category)))
    ]


def _sized(mention: Mention, size: Mention, menu: Menu) -> bool:
    """Whether an item named before may be what the size is of."""
    return mention.kind == "item" and any(
        {*size.ids} & {*item.size_ids} for item in menu.items if item.sku in mention.ids
    )


def _led(tokens: list[Token], at: int) -> bool:
    """Whether a line may begin before a size."""
    if at == 0 or tokens[at - 1].after:
        return True
    word = tokens[at - 1].folded
    return word.isdigit() or word in ARTICLES or word in AND or word in FILLERS


def _closed(tokens: list[Token], own: list[Mention], size: Mention, after: Mention) -> bool:
    """Whether a joint, a pause, an article or a number parts the choices from the item that follows."""
    start, end = span(tokens, own[-1] if own else size)[1], span(tokens, after)[0]
    between = tokens[start:end]
    parts = any(t.folded in AND or t.folded in ("a", "an") or t.folded.isdigit() or t.after for t in between)
    return parts or bool(tokens[start - 1].after)


def _begins(choice: Mention, menu: Menu, named: Named) -> bool:
    """Whether an item's name begins with that of a choice: "a large pep", where there is a pepperoni pizza."""
    meant = {*zip(choice.groups, choice.ids, strict=True)}
    names = [
        tuple(token.folded for token in tokenize(option.name))
        for group in menu.option_groups
        for option in group.options
        if (group.id, option.id) in meant
    ]
    return any(
        known[: len(said)] == said and known != said for said in names for known, _ in named(said[0])
    )


def _only_of(base: Item, own: list[Mention], menu: Menu) -> bool:
    """Whether one of the choices goes with nothing but things of this category."""
    others = {g for item in menu.items if item.category != base.category for g in item.option_groups}
    return any(not others & {*mention.groups} for mention in own)
