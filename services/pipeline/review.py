"""What a human's decision makes of an order: a reviewer's, or the customer's own. The same facts and the same
prices apply to both."""

from __future__ import annotations

from collections import Counter
from typing import Any

from schemas.cart import CartDraft
from schemas.compare import LineKey, canonical
from schemas.errors import InvalidCart
from schemas.lifecycle import Event
from schemas.review import ReviewDecision
from schemas.transcript import Transcript
from services.pipeline.price import price_cart
from services.pipeline.validate import check_facts
from services.storage.records import MenuVersion, OrderRecord, Outcome

# A human may overrule a limit; the rest would make a cart that can't be made or priced.
OVERRULED = frozenset({"quantity_over_limit", "item_unavailable", "option_unavailable"})


def settle(order: OrderRecord, decision: ReviewDecision, menu: MenuVersion) -> Outcome:
    """The outcome of a decision, with the final cart priced from the order's menu version.

    Raises:
        InvalidCart: approved or corrected to something that the menu can't make or price.
    """
    detail = {"reviewer": decision.reviewer, "action": decision.action, "reason": decision.reason}
    if decision.action == "reject":
        return Outcome(Event.REFUSED, detail=detail)
    draft = decision.cart if decision.action == "correct" else order.draft
    if draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to approve; send a corrected one")])
    return _priced(Event.APPROVED, order, draft, menu, detail, overruled=OVERRULED)


def confirm(order: OrderRecord, corrected: CartDraft | None, menu: MenuVersion) -> Outcome:
    """The outcome of a customer's look at the proposed cart: right as it is, or `corrected` by them.

    Raises:
        InvalidCart: corrected to something that the menu does not offer now. No limit is overruled.
    """
    draft = corrected or order.draft
    if draft is None:
        raise InvalidCart([("/cart", "there is no proposed cart to confirm")])
    detail = {"corrected": _lines(draft) != _lines(order.draft)}
    return _priced(Event.CONFIRMED, order, draft, menu, detail)


def _lines(draft: CartDraft | None) -> Counter[LineKey]:
    return canonical(draft.model_dump(mode="json")["lines"]) if draft else Counter()


def _priced(
    event: Event,
    order: OrderRecord,
    draft: CartDraft,
    menu: MenuVersion,
    detail: dict[str, Any],
    overruled: frozenset[str] = frozenset(),
) -> Outcome:
    findings = check_facts(draft, menu.menu)
    problems = [
        (f"/cart/lines/{f.line}" if f.line is not None else "/cart/lines", f.message)
        for f in findings
        if f.severity == "blocking" and f.code not in overruled
    ]
    if problems:
        raise InvalidCart(problems)
    heard = order.transcript or Transcript(text="", confidence=0.0)
    return Outcome(
        event,
        draft=draft,
        cart=price_cart(draft, menu.menu, menu.version, heard, findings),
        findings=tuple(findings),
        detail=detail,
    )
