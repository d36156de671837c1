"""The shop's webhook endpoints, as `saycart webhooks` has them, and a test delivery."""

from __future__ import annotations

import secrets
from datetime import UTC, datetime
from typing import Any, cast, get_args

from infra.webhooks import Poster, PostResult
from schemas.errors import InputError, NotFound
from schemas.lifecycle import STATUS, State
from schemas.priced_cart import MenuRef
from schemas.shops.webhook import EVENTS, TEST, Till, WebhookMessage, WebhookOrder
from services.shop_scope import ShopScope
from services.web.pages import Form

TILLS = get_args(Till)


def content(shop: ShopScope) -> dict[str, Any]:
    """Return the context of the page."""
    allowed = shop.settings.webhook_endpoints != "off"
    return {"endpoints": shop.endpoints.list(), "allowed": allowed, "events": EVENTS, "tills": TILLS}


def test(shop: ShopScope, endpoint_id: str) -> PostResult:
    """Send a signed `order.test` once, of a cancelled order, so that nothing is made; raises NotFound."""
    if (target := shop.endpoints.target(endpoint_id)) is None:
        raise NotFound(f"No webhook endpoint {endpoint_id[:60]}")
    data = WebhookOrder(
        order_id="ord_test",
        shop=shop.shop,
        seq=1,
        status=STATUS[State.CANCELLED],
        menu=MenuRef(id="test", version=1),
        cart=None,
        metadata=None,
        error=None,
    )
    message = WebhookMessage(type=TEST, timestamp=datetime.now(UTC), data=data)
    with Poster() as poster:
        return poster.post(target, f"msg_test_{secrets.token_hex(8)}", message.model_dump_json())


def _add(shop: ShopScope, form: Form) -> tuple[str, str]:
    """Add an endpoint, for all events unless some are chosen."""
    till, location = form.get("till") or None, form.get("location") or None
    if till not in (None, *TILLS):
        raise InputError("Unknown till", hint=f"Choose one of {', '.join(TILLS)}.")
    named, events = cast("Till | None", till), form.all("event") or None
    added, secret = shop.endpoints.add(
        shop.shop, form.get("url"), events, by=shop.by, till=named, location=location
    )
    return f"Secret for {added.origin}", secret


def _remove(shop: ShopScope, form: Form) -> None:
    shop.endpoints.remove(form.get("endpoint"), by=shop.by)


ACTIONS = {"add": _add, "remove": _remove}
