"""What only says how many of which kind follow: "five cookies: three oatmeal, two chocolate chip", "three
pizzas, all large: a Hawaiian, a veggie and a supreme".
"""

from __future__ import annotations

from collections.abc import Sequence

from schemas.evidence import OptionEvidence
from services.reading.chart.tokens import fold
from services.reading.clauses.changes import Changes, Remove, Resize, Share
from services.reading.clauses.content import as_choices
from services.reading.clauses.listener import Listener
from services.reading.clauses.tally import Tally, Wish


def headings(tally: Tally, listener: Listener) -> Changes:
    """Headings go once all is said; each gives its size and options to the lines that it announced."""
    for head in tally.wishes:
        announced = _announced(head, tally.wishes[tally.wishes.index(head) + 1 :], listener)
        several = len({wish.items for wish in announced}) > 1 or len(head.items) > 1
        joined = announced and _is_joined(head, listener)
        if not several or joined or sum(w.quantity for w in announced) != head.quantity:
            continue
        yield Remove(head)
        for wish in announced:
            yield from _inherit(tally, wish, head)


def _announced(head: Wish, following: Sequence[Wish], listener: Listener) -> list[Wish]:
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


def _inherit(tally: Tally, wish: Wish, head: Wish) -> Changes:
    if wish.size is None and head.size is not None and tally.sized(wish, head.size):
        yield Resize(wish, head.size)
    for choices in as_choices(head.options):
        if tally.choice(wish, choices) is not None and not _has_its_own(tally, wish, choices[0]):
            yield Share((wish,), choices)


def _has_its_own(tally: Tally, wish: Wish, option: OptionEvidence) -> bool:
    """Whether a line has that option already, or another where one can be had."""
    alone = tally.single(option.group) and any(group == option.group for group, _ in wish.options)
    return alone or (option.group, option.id) in wish.options
