"""What customers called things: words that a person, or the customer's own answer, gave a meaning to.

| found where | words | thing |
|---|---|---|
| staff put another item in a line's place | the line's, without sizes, numbers and own options | that item |
| staff added one option to a line | the line's only words that the menu has nothing for | that option |
| staff added one line | the order's only such words that no other line holds | its item |
| the customer said which of several items it is | as in the first | that item |

Words that came out as two different things are nobody's name: of ten orders eight have to agree.
"""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from schemas.cart import Amount, Cart, CartLine
from schemas.menu import Menu, spoken_key
from schemas.naming import Source, item_key, option_key
from services.reading.chart.tokens import Folded, folded
from services.reading.language.language import language_of
from services.storage.shops.names import Answered, Corrected

LEAST_ORDERS = 2
"""Fewer are one customer's own words, and are shown to nobody."""
_AGREE = 0.8

Found = tuple[str, str, str, Source]
"""An order, a thing's key, words, and where they are from."""


@dataclass
class Said:
    """Words for one thing: by whom, how they were spelt, and where it was found."""

    orders: set[str] = field(default_factory=set)
    spelt: Counter[str] = field(default_factory=Counter)
    sources: Counter[Source] = field(default_factory=Counter)

    @property
    def words(self) -> str:
        return self.spelt.most_common(1)[0][0]

    @property
    def source(self) -> Source:
        return self.sources.most_common(1)[0][0]


def said_often(found: Iterable[Found], menu: Menu) -> dict[tuple[str, Folded], Said]:
    """By thing and folded words: what at least `LEAST_ORDERS` different orders said of it, and nearly none of
    another thing; the commonest first."""
    language = language_of(menu)
    counted: defaultdict[tuple[str, Folded], Said] = defaultdict(Said)
    orders: defaultdict[Folded, set[str]] = defaultdict(set)
    for order, thing, words, source in found:
        key = folded(words, language)
        one = counted[thing, key]
        orders[key].add(order)
        one.orders.add(order)
        one.spelt[words] += 1
        one.sources[source] += 1
    often = {
        (thing, key): one
        for (thing, key), one in counted.items()
        if len(one.orders) >= max(LEAST_ORDERS, _AGREE * len(orders[key]))
    }
    return dict(sorted(often.items(), key=lambda pair: (-len(pair[1].orders), pair[0])))


def in_answers(answered: Iterable[Answered], menu: Menu) -> Iterator[Found]:
    """Words that fitted several items, of which the customer said which."""
    for one in answered:
        number, _, field_name = one.question.partition("/")
        if field_name == "sku" and number.isdecimal() and int(number) < len(one.cart.lines):
            line = one.cart.lines[int(number)]
            if line.sku is not None:
                yield one.order, item_key(line.sku), name_in(line, menu), "orders"


def in_corrections(corrected: Iterable[Corrected], menu: Menu) -> Iterator[Found]:
    """What staff made of words; `orders` where the machine had taken them for nothing on the menu."""
    for one in corrected:
        before = {line.heard.text: line for line in one.before.lines}
        for new in one.after.lines:
            old = before.get(new.heard.text)
            if old is None or new.sku is None:
                continue
            if old.sku != new.sku:
                source: Source = "orders" if old.sku is None else "corrections"
                yield one.order, item_key(new.sku), name_in(new, menu), source
            else:
                yield from _option_added(one, old, new)
        yield from _line_added(one, before)


def _option_added(one: Corrected, old: CartLine, new: CartLine) -> Iterator[Found]:
    had = {(option.group, option.id) for option in old.options}
    more = [o for o in new.options if (o.group, o.id) not in had and o.amount is not Amount.NONE]
    odd = [words for words in one.odd if words in new.heard.text]
    if len(more) == len(odd) == 1:
        yield one.order, option_key(more[0].group, more[0].id), odd[0], "corrections"


def _line_added(one: Corrected, before: Iterable[str]) -> Iterator[Found]:
    added = [line for line in one.after.lines if line.heard.text not in set(before)]
    odd = _without(one.odd, one.after, added)
    if len(added) == len(odd) == 1 and added[0].sku is not None:
        yield one.order, item_key(added[0].sku), odd[0], "corrections"


def _without(odd: Sequence[str], cart: Cart, added: Sequence[CartLine]) -> list[str]:
    """Words that no line holds but those added: what staff left where it was is not what they added."""
    held = [line.heard.text for line in cart.lines if line not in added]
    return [words for words in odd if not any(words in text for text in held)]


def name_in(line: CartLine, menu: Menu) -> str:
    """What is left of a line's words without numbers, fillers, sizes and its own options: the item's name."""
    options = {(o.group, o.id) for o in line.options}
    said = [
        *(name for size in menu.sizes for name in (size.name, *size.aliases)),
        *(
            name
            for group in menu.option_groups
            for option in group.options
            if (group.id, option.id) in options
            for name in (option.name, *option.aliases)
        ),
    ]
    language = language_of(menu)
    other = {word for name in said for word in spoken_key(name).split()}
    other |= language.fillers | language.numbers.keys()
    words = re.findall(r"\w+", line.heard.text.casefold().replace("'", ""))
    return " ".join(word for word in words if word not in other and not word.isdecimal())
