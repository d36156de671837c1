"""What only says how many of which kind follow: "five cookies: three oatmeal, two chocolate chip", "three
pizzas, all large: a Hawaiian, a veggie and a supreme".
"""

from __future__ import annotations

from services.reading.chart.tokens import fold
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish


def without_headings(tally: Tally, listener: Listener) -> list[Wish]:
    """The lines of an order; a heading gives its size and options to those that it announced."""
    wishes = list(tally.wishes)
    for head in tally.wishes:
        announced = _announced(head, wishes[wishes.index(head) + 1 :], listener)
        several = len({wish.items for wish in announced}) > 1 or len(head.items) > 1
        joined = announced and _is_joined(head, listener)
        if not several or joined or sum(w.quantity for w in announced) != head.quantity:
            continue
        wishes.remove(head)
        for wish in announced:
            _inherit(tally, wish, head)
    return wishes


def _announced(head: Wish, following: list[Wish], listener: Listener) -> list[Wish]:
    """As many of the lines after a heading as it may stand for."""
    announced: list[Wish] = []
    for wish in following:
        if sum(w.quantity for w in announced) >= head.quantity or not _is_kind(wish, head, listener):
            break
        announced.append(wish)
    return announced


def _is_joined(head: Wish, listener: Listener) -> bool:
    """Whether an "and" follows a line, which then announces nothing."""
    after = listener.tokens[head.at[1] : head.at[1] + 1]  # none behind a heading that was named again last
    return bool(after) and after[0].folded in listener.tokens.language.conjunctions


def _is_kind(wish: Wish, head: Wish, listener: Listener) -> bool:
    """Whether a line may be one of the kinds that a heading names: of several items that it may mean one,
    or of the category that it is called by."""
    if not wish.items or not head.items:
        return False
    if len(head.items) > 1:
        return set(wish.items) <= set(head.items)
    called = {token.folded for token in listener.tokens[slice(*head.at)]}
    kinds = {item.sku: item.category for item in listener.menu.items}
    category = kinds[head.items[0]]
    return called == {fold(category, listener.tokens.language)} and kinds[wish.items[0]] == category


def _inherit(tally: Tally, wish: Wish, head: Wish) -> None:
    if wish.size is None and head.size is not None and tally.sized(wish, head.size):
        wish.size = head.size
    for choice, how in head.options.items():
        if tally.offers(wish, choice[0]):
            wish.options.setdefault(choice, how)
