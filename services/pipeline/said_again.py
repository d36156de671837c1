"""A page's customer who said nothing usable is asked to say it again, twice, before a person is.

Nonsense and silence are cheap to send, and a person's minute is not, so the doubt goes back to the customer
who caused it. Only words that name nothing on the menu are sent back; every other doubt is for a person at
once. So is any order from a till, where staff stand next to the customer.
"""

from __future__ import annotations

from collections.abc import Collection

from schemas.cart import CartDraft, Finding
from schemas.lifecycle import Event
from schemas.order import SAY_IT_AGAIN, OrderError
from schemas.records.orders import OrderRecord, Outcome
from schemas.sentences.sentences import sentences
from services.pipeline.ports import Tools

TIMES = 2
# What an order may be doubted for that names nothing on the menu.
_NOTHING = frozenset({"nothing_heard", "not_on_menu", "empty_cart", "reading_unsure"})


def _has_item(draft: CartDraft | None) -> bool:
    return draft is not None and any(line.kind == "item" for line in draft.lines)


def say_it_again(
    order: OrderRecord, draft: CartDraft | None, findings: Collection[Finding], tools: Tools, stage: str
) -> Outcome | None:
    """The end of an order of which nothing can be used; None where a person should look."""
    blocking = [finding for finding in findings if finding.blocks]
    if not order.confirm or not blocking or _has_item(draft):
        return None
    if any(finding.question or finding.code not in _NOTHING for finding in blocking):
        return None
    if tools.sent_back(order) >= TIMES:
        return None
    say = sentences(order.language)
    error = OrderError(
        code=SAY_IT_AGAIN, message=say("nothing_caught"), hint=say("say_it_again"), stage=stage
    )
    # A recording of silence is of no use.
    return Outcome(Event.BROKE, error=error, detail={"code": error.code}, refused=draft is None)
