"""Which of several readings of the same words holds: a size or an option, an item or a choice of the item
before."""

from __future__ import annotations

from schemas.cart import Amount
from schemas.evidence import Mention
from schemas.menu import Item, Menu
from services.pipeline.english import AMOUNT_FILLERS, AMOUNTS, AND, GROUPS, MEASURES, VESSELS
from services.pipeline.quantifiers import number_value
from services.pipeline.turns import THE_OTHER
from services.pipeline.words import SENTENCE_ENDS, Token, span

# What follows belongs to the item before; what follows the others is one thing more, perhaps.
_INTRODUCING = frozenset("with including drink side choice".split())
_ON_IT = frozenset("it that them top there".split())
_ADDING_LINES = frozenset("also plus then another".split())


def senses(tokens: list[Token], mentions: list[Mention], menu: Menu) -> tuple[list[Mention], bool]:
    """Settle which of several readings of the same words hold, from left to right; True where one item may
    as well be an option of the item before it."""
    named = {sku for m in mentions if m.kind == "item" for sku in m.ids}
    groups_of = {item.sku: set(item.option_groups) for item in menu.items if item.sku in named}
    single = menu.choose_one
    strong_items = [m for m in mentions if m.kind == "item" and m.strong]
    mentions = [m for m in mentions if not _of_another_kind(tokens, m, mentions, menu)]
    mentions = [m for m in mentions if not _measures(tokens, m, mentions)]
    kept: list[Mention] = []
    offered: set[str] = set()
    filled: set[str] = set()
    end, torn = 0, False
    at = 0  # where the words since the last name begin
    for mention in mentions:
        if _begins_part(tokens[at : span(tokens, mention)[0]]):
            filled = set()  # the next of several may have a side of its own
        at = at if mention.kind == "size" else span(tokens, mention)[1]
        twins = [m for m in mentions if m is not mention and (m.start, m.end) == (mention.start, mention.end)]
        if mention.kind == "item":
            as_option = {g for m in twins if m.kind == "option" for g in m.groups} & offered - filled
            if as_option:
                counted, leads = _leading(tokens, mentions, mention, end)
                if not counted:
                    torn = torn or not leads or _thing(tokens, mention, as_option, menu)
                    continue
            if not mention.strong and _beside(tokens, mention, strong_items):
                continue
            if not mention.strong and _points_back(tokens, mention, mentions):
                continue
            torn = torn or _lightly(tokens, mention, mentions) or _on_it(tokens, mention)
            offered = set().union(*(groups_of[sku] for sku in mention.ids))
            filled, end = set(), mention.end
        elif mention.kind == "option":
            items = [m for m in twins if m.kind == "item"]
            if items and (not set(mention.groups) & offered - filled or items[0] in kept):
                continue
            if items and _leading(tokens, mentions, mention, end)[0]:
                continue
            filled |= single.intersection(mention.groups)
        kept.append(mention)
    return kept, torn


def offered(mentions: list[Mention], menu: Menu) -> list[Mention]:
    """The mentions; an option without the readings that nothing named comes with, where it has others."""
    skus = {sku for m in mentions if m.kind == "item" for sku in m.ids}
    groups = {group for item in menu.items if item.sku in skus for group in item.option_groups}
    return [narrowed(m, groups) if m.kind == "option" else m for m in mentions]


def narrowed(mention: Mention, groups: set[str]) -> Mention:
    """An option's readings of these groups; all of them where none is of these."""
    pairs = [pair for pair in zip(mention.groups, mention.ids, strict=True) if pair[0] in groups]
    if len(pairs) in (0, len(mention.ids)):
        return mention
    return mention.model_copy(
        update={"groups": tuple(g for g, _ in pairs), "ids": tuple(i for _, i in pairs)}
    )


def _thing(tokens: list[Token], mention: Mention, groups: set[str], menu: Menu) -> bool:
    """Whether an article leads to what may be a thing of its own: "and a coffee", after ice cream that
    comes in flavours, of which coffee is one; not where a group's choices are things, like the drinks of a
    combo."""
    at = span(tokens, mention)[0]
    if not at or tokens[at - 1].folded not in ("a", "an"):
        return False
    things = {name.casefold() for item in menu.items for name in (item.name, *item.aliases)}
    choices = [option for group in menu.option_groups if group.id in groups for option in group.options]
    named = sum(
        not things.isdisjoint({o.name.casefold(), *(a.casefold() for a in o.aliases)}) for o in choices
    )
    return 2 * named < len(choices)


def _begins_part(between: list[Token]) -> bool:
    """ "Two combos, one with fries, the other with fries too"."""
    words = [token.folded for token in between]
    opens = [i for i, word in enumerate(words) if word in THE_OTHER or number_value(word) is not None]
    return bool(opens) and "with" in words[opens[0] :]


def _measures(tokens: list[Token], mention: Mention, mentions: list[Mention]) -> bool:
    """ "One shot of vanilla" is no espresso."""
    first, end = span(tokens, mention)
    measure = mention.kind == "option" and {t.folded for t in tokens[first:end]} <= MEASURES
    of = end + 1 < len(tokens) and tokens[end].folded == "of" and not tokens[end - 1].after
    return measure and of and any(m.kind == "option" and span(tokens, m)[0] == end + 1 for m in mentions)


def _of_another_kind(tokens: list[Token], mention: Mention, mentions: list[Mention], menu: Menu) -> bool:
    """Whether a word that is a size and an option is the other one here: in "a medium horchata" it is no
    medium salsa, and "a burrito with medium" has no size. "A little cheese" is an amount."""
    first, end = span(tokens, mention)
    if mention.kind == "size" and (
        _of_the_order(tokens, end, mentions) or _holds(tokens, mention, mentions, menu)
    ):
        return True
    if mention.kind == "option" and not tokens[end - 1].after and GROUPS & _folded(tokens, end, end + 1):
        return True  # "the whole crew"
    if (
        mention.kind == "size"
        and tokens[first].folded == "dozen"
        and "half" in _folded(tokens, first - 2, first)
    ):
        return True  # half a dozen is no dozen
    if mention.kind == "size" and mention.text.casefold() in AMOUNTS:
        at, led = _led_to(tokens, mention, mentions)
        return led is None and at > span(tokens, mention)[1]
    if mention.kind == "option" and mention.text.casefold() in AMOUNTS:
        at = span(tokens, mention)[1]  # "easy on the gravy", where eggs come easy
        while at < len(tokens) and tokens[at].folded in AMOUNT_FILLERS and not tokens[at - 1].after:
            at += 1
        after = {span(tokens, m)[0] for m in mentions if m.kind == "option"}
        return at in after and not tokens[at - 1].after
    alike = [m for m in mentions if (m.start, m.end) == (mention.start, mention.end)]
    if {m.kind for m in alike} != {"size", "option"}:
        return False
    _, led = _led_to(tokens, mention, mentions)
    before = (m for m in reversed(mentions) if m.kind == "item" and m.end <= mention.start)
    about = led or next(before, None)
    meant = [item for item in menu.items if about is not None and item.sku in about.ids]
    fits = {m.kind for m in alike if any(_comes_with(item, m) for item in meant)}
    if led is not None and "size" in fits:
        return mention.kind == "option"  # "medium nachos", though there is a medium salsa
    return len(fits) == 1 and mention.kind not in fits


def _holds(tokens: list[Token], mention: Mention, mentions: list[Mention], menu: Menu) -> bool:
    """Whether a word only says what an item comes in, that has no such size: "a bottle of water"."""
    first, end = span(tokens, mention)
    of = [t.folded for t in tokens[end : end + 1]] == ["of"] and not tokens[end - 1].after
    if not of or tokens[first].folded not in VESSELS or end - first > 1:
        return False
    items = [m for m in mentions if m.kind == "item" and span(tokens, m)[0] == end + 1]
    return any(not any(_comes_with(item, mention) for item in menu.items if item.sku in m.ids) for m in items)


def _folded(tokens: list[Token], start: int, end: int) -> set[str]:
    return {token.folded for token in tokens[max(start, 0) : end]}


def _of_the_order(tokens: list[Token], end: int, mentions: list[Mention]) -> bool:
    """Whether it is the order or who comes that is big: "big office order: ...", "a large family today"."""
    for i in range(end, min(end + 2, len(tokens))):
        if any(m.start <= tokens[i].start < m.end for m in mentions):
            break  # "six party wings"
        if tokens[i].folded in GROUPS:
            last = (
                i + 1 == len(tokens)
                or bool(tokens[i].after)
                or tokens[i + 1].folded in ("for", "today", "here")
            )
            return last or tokens[i].folded != "order"
        if tokens[i].after:
            break
    return False


def _comes_with(item: Item, mention: Mention) -> bool:
    offered = item.size_ids if mention.kind == "size" else item.option_groups
    return bool({*(mention.ids if mention.kind == "size" else mention.groups)} & {*offered})


def _led_to(tokens: list[Token], mention: Mention, mentions: list[Mention]) -> tuple[int, Mention | None]:
    """Where the sizes and options that follow a mention end, and the item that they lead to."""
    at = span(tokens, mention)[1]
    ends = {span(tokens, m)[0]: span(tokens, m)[1] for m in mentions if m.kind != "item"}
    items = {span(tokens, m)[0]: m for m in mentions if m.kind == "item"}
    while at in ends and at not in items and not tokens[at - 1].after:
        at = ends[at]
    return at, items.get(at) if not tokens[at - 1].after else None


def _leading(tokens: list[Token], mentions: list[Mention], mention: Mention, since: int) -> tuple[bool, bool]:
    """How a name is led to that may be an item or a choice of the item that ends at character `since`:
    whether a number of its own counts it ("two colas"), and whether it goes on from that item ("with a
    cola", "combo, cola", "fries and a cola" after "with")."""
    at = span(tokens, mention)[0]
    sizes = {i for m in mentions if m.kind == "size" for i in range(*span(tokens, m))}
    while at > 0 and at - 1 in sizes:
        at -= 1
    between = [t for t in tokens[:at] if t.start >= since]
    number = number_value(between[-1].folded) if between else None
    ended = any(t.after in SENTENCE_ENDS for t in (*between, *(t for t in tokens if t.end == since)))
    words = {t.folded for t in between}
    if words & _INTRODUCING and not ended and number is not None and number > 1 and between[:-1]:
        apart = between[-2].folded in AND or bool(between[-2].after)
        return False, not apart  # "with sauce and six hummus": of it, or six more things
    if words & _INTRODUCING and not ended:
        return False, not words & _ADDING_LINES
    if number is not None and (number > 1 or ended):
        return True, False
    end = next((i for i, t in enumerate(tokens) if t.end == mention.end), at)
    if [t.folded for t in tokens[end + 1 : end + 3]] == ["to", "drink"]:
        return False, True  # "and a coke to drink"
    article = bool(between) and (number == 1 or between[-1].folded in ("a", "an"))
    return False, not article and not ended and not words & _ADDING_LINES


def _on_it(tokens: list[Token], mention: Mention) -> bool:
    """Whether an item is to stand on another: "and put chopped brisket on it"."""
    end = span(tokens, mention)[1]
    after = [t.folded for t in tokens[end : end + 2]]
    return after[:1] == ["on"] and not _ON_IT.isdisjoint(after[1:])


def _lightly(tokens: list[Token], mention: Mention, mentions: list[Mention]) -> bool:
    """Whether little is wished for of an item: "easy on the gravy" is no side of it."""
    at = span(tokens, mention)[0] - 1
    while at >= 0 and tokens[at].folded in AMOUNT_FILLERS and not tokens[at].after:
        at -= 1
    named = any(m.start <= tokens[at].start < m.end for m in mentions)
    return at >= 0 and AMOUNTS.get(tokens[at].folded) is Amount.LIGHT and not named and not tokens[at].after


def _points_back(tokens: list[Token], mention: Mention, mentions: list[Mention]) -> bool:
    """Whether a part of a name points at what was ordered before: "no mayo on the sandwich", and at a
    cheeseburger by "the burger" where nothing else was."""
    at, word = span(tokens, mention)[0], mention.text.casefold()
    choices = {(m.start, m.end) for m in mentions if m.kind == "option"}
    things = [m for m in mentions if m.kind == "item" and m.strong]
    alike = {m.ids for m in things if set(m.ids) & set(mention.ids)}
    alone = [m for m in things if (m.start, m.end) not in choices]
    led = [t.folded for t in tokens[max(at - 2, 0) : at]] in (["on", "the"], ["in", "the"])
    if not led or any(m.end > mention.start for m in things):
        return False
    called = len(alone) == 1 and any(part.endswith(word) for part in alone[0].text.casefold().split())
    return called or len(alike) == 1


def _beside(tokens: list[Token], mention: Mention, others: list[Mention]) -> bool:
    """Whether another mention stands next to this one, with no joint between."""
    for other in others:
        low, high = sorted((mention, other), key=lambda m: m.start)
        between = [t for t in tokens if low.end <= t.start and t.end <= high.start]
        ends = [t for t in tokens if t.end == low.end and t.after]
        if len(between) <= 2 and not ends and not any(t.folded in AND or t.after for t in between):
            return True
    return False
