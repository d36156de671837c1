"""`logit_bias`, what is tried first on an OpenAI-compatible server: some tokens are made likelier, in the
whole answer alike.

It knows no place in the answer, so all that it can say is which tokens occur, not in which order. They are
those that carts of the menu are cut into, and those of the order's own words, since a cart quotes them: the
best set that a caller could make. `BIAS` favours them; under `ALONE`, the most that servers take, nothing
else is left to say, as if every other token had been forbidden.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache

from schemas.cart import (
    MAX_COUNT,
    MAX_HEARD_CHARS,
    MAX_LINES,
    MAX_OPTIONS,
    Amount,
    CartDraft,
    ItemLine,
    LineDraft,
    NotOnMenuLine,
    OptionDraft,
)
from schemas.menu import Menu
from services.engines.masks.labels import Labels
from tests.bench.chat import Chat
from tests.bench.orders import Order, labels_of

BIAS = 5.0
ALONE = 100.0
END = "<|im_end|>"
DIGITS = (123, 456, 789, 10)


def favoured(chat: Chat, order: Order, by: float) -> dict[str, float]:
    """The request's `logit_bias`: each token that a cart of this order may be made of, by its number."""
    words = order.said.split()
    heard = [" ".join(words[start:])[:MAX_HEARD_CHARS].strip() for start in range(len(words))]
    own = _written(
        order.labels, [NotOnMenuLine(kind="not_on_menu", heard=part, quantity=1) for part in heard]
    )
    tokens = _of_menu(chat, order.menu.id).union(*(chat.tokens(text) for text in own))
    return {str(token): by for token in sorted(tokens)}


@cache
def _of_menu(chat: Chat, menu: str) -> frozenset[int]:
    labels = labels_of(menu)
    texts = [*_written(labels, list(_lines(labels.menu))), '{"lines":[]}', END]
    return frozenset(token for text in texts for token in chat.tokens(text))


def _written(labels: Labels, lines: list[LineDraft]) -> list[str]:
    """The lines in as few carts as hold them, as a model would write them."""
    starts = range(0, len(lines), MAX_LINES)
    return [labels.to_wire(CartDraft(lines=tuple(lines[start : start + MAX_LINES]))) for start in starts]


def _lines(menu: Menu) -> Iterator[LineDraft]:
    """Every item, in each of its sizes and with each of its options; each amount, count and digit."""
    options = {group.id: [option.id for option in group.options] for group in menu.option_groups}
    for item in menu.items:
        name = item.name.casefold()[:MAX_HEARD_CHARS]
        for size in item.size_ids or (None,):
            yield ItemLine(kind="item", heard=name, sku=item.sku, quantity=1, size=size)
        for group in item.option_groups:
            all_of = tuple(OptionDraft(group=group, id=option) for option in options[group][:MAX_OPTIONS])
            yield ItemLine(kind="item", heard=name, sku=item.sku, quantity=1, options=all_of)
    for quantity in DIGITS:
        yield NotOnMenuLine(kind="not_on_menu", heard=menu.name, quantity=quantity)
    for group, (first, *_) in options.items():
        amounts = [OptionDraft(group=group, id=first, amount=amount) for amount in Amount]
        counts = [OptionDraft(group=group, id=first, count=number) for number in range(1, MAX_COUNT + 1)]
        for changed in (*amounts, *counts):
            yield ItemLine(
                kind="item", heard=menu.name, sku=menu.items[0].sku, quantity=1, options=(changed,)
            )
