"""Ask a customer on a page to repeat an unusable order, twice at most, before a person looks at it.

Silence and nonsense cost nothing to send, and a person's minute does. Only orders that name nothing on the
menu are sent back; any other doubt goes to a person at once, and so does every order from a till, where staff
stand next to the customer.
"""

from __future__ import annotations

from collections.abc import Collection

from schemas.cart import CartDraft
from schemas.lifecycle import Event
from schemas.order import SAY_IT_AGAIN, OrderError
from schemas.priced_cart import Finding
from schemas.records.orders import OrderRecord, Outcome
from schemas.sentences.sentences import sentences
from schemas.shops.access import is_page
from services.pipeline.ports import Tools

TIMES = 2
# Findings of an order that names nothing on the menu.
_NOTHING = frozenset({"nothing_heard", "not_on_menu", "empty_cart", "reading_unsure"})


def _has_item(draft: CartDraft | None) -> bool:
    return draft is not None and any(line.kind == "item" for line in draft.lines)


def ask_again(
    order: OrderRecord, draft: CartDraft | None, findings: Collection[Finding], tools: Tools, stage: str
) -> Outcome | None:
    """Return the outcome of an unusable order, or None if a person should look at it."""
    blocking = [finding for finding in findings if finding.blocks]
    if not is_page(order.source) or not blocking or _has_item(draft):
        return None
    if any(finding.question or finding.code not in _NOTHING for finding in blocking):
        return None
    if tools.times_asked_again(order) >= TIMES:
        return None
    say = sentences(order.language)
    error = OrderError(
        code=SAY_IT_AGAIN, message=say("nothing_caught"), hint=say("say_it_again"), stage=stage
    )
    # A recording of silence is of no use.
    return Outcome(Event.BROKE, error=error, detail={"code": error.code}, refused=draft is None)
