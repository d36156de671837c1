"""Customers have no accounts: who stands before a shop's order page, and who holds which order.

- The **page**: at `/` for the shop of the setting `page_shop`; at `/at/PAGE_KEY` for any shop, which a kiosk
  or a shop's site opens once: a cookie keeps it. It lets order, and read the menu.
- An **order** is its customer's by a capability (`services/api/routes/links.py`) in an HttpOnly cookie
  that goes to `/orders/ID` and below, nowhere else. A link with it (`?c=...`) becomes that cookie.
- Staff of the shop may look at an order's page, and change nothing there.
"""

from __future__ import annotations

import secrets
from typing import Annotated, Any

from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import RedirectResponse, Response

from schemas.errors import NotFound
from schemas.shops.access import VISITOR_SCOPES, Access, Scope
from services.api.deps import address, container
from services.api.gate.access import asking, check, desk, of_anybody
from services.api.gate.origin import is_https
from services.api.gate.rates import by_address, rates_of
from services.api.routes.links import LINK_S, capability, opened_by
from services.desk import Desk
from services.web.pages import PageRoute, go
from services.web.staff import staff

router = APIRouter(include_in_schema=False, route_class=PageRoute)

PAGE_COOKIE, VISITOR_COOKIE, ORDER_COOKIE = "saycart_page", "saycart_visitor", "saycart_order"
_PAGE_S = 365 * 86_400


def hand_over(request: Request, answer: Response, shop: str, order_id: str) -> Response:
    """Give the browser the capability for an order."""
    box = container(request)
    token, path = capability(box, shop, order_id), f"/orders/{order_id}"
    return _keep(request, answer, ORDER_COOKIE, token, LINK_S, path)


def visitor_name(request: Request) -> str:
    """The browser's own random name; a new one where it has none yet."""
    given = request.cookies.get(VISITOR_COOKIE, "")
    return given if given.isalnum() and given.isascii() and len(given) == 32 else secrets.token_hex(16)


def name_visitor(request: Request, answer: Response, name: str) -> Response:
    """Let the browser keep its name for as long as it is open."""
    return _keep(request, answer, VISITOR_COOKIE, name)


def _keep(
    request: Request, answer: Response, name: str, value: str, lasting_s: float | None = None, path: str = "/"
) -> Response:
    """Have the browser keep a cookie, out of reach of scripts and of other sites' forms."""
    age = None if lasting_s is None else int(lasting_s)
    secure = is_https(request)
    answer.set_cookie(name, value, max_age=age, path=path, httponly=True, samesite="lax", secure=secure)
    return answer


@router.get("/at/{page_key}", dependencies=[Depends(by_address)])
def enter(page_key: str, request: Request) -> Response:
    """Open a shop's order page by its public key."""
    if container(request).keys.page_access(page_key) is None:
        raise NotFound("No order page here.", hint="Ask the shop for its link.")
    return _keep(request, go(request, "/"), PAGE_COOKIE, page_key, _PAGE_S)


async def _visiting(request: Request) -> Desk:
    """The desk of the shop whose page this is: of the staff who look, of the page's key, or of `/`.

    Raises:
        NotFound: none of them.
        TooManyRequests: over the limit of the person, of the page at this address, or of the address.
    """
    box, rates = container(request), rates_of(request)
    signed = await staff.counted_visitor(request)
    if signed is not None:
        return desk(request, Access(signed.desk.shop, "page", VISITOR_SCOPES))
    key = request.cookies.get(PAGE_COOKIE, "")
    access = await run_in_threadpool(box.keys.page_access, key) if key else None
    if access is not None:
        await rates.count(("address", f"{access.actor} {address(request)}"))
        return desk(request, access)
    await by_address(request)
    if not box.settings.page_shop:
        raise NotFound("No order page here.", hint="Use the link the shop gave you.")
    return desk(request, Access(box.settings.page_shop, "page", VISITOR_SCOPES))


async def _holding(order_id: str, request: Request) -> Desk:
    """The desk for one order: of the customer who holds it, or of staff of its shop, who only read.

    Raises:
        NotFound: neither; not even whether there is such an order is told.
        TooManyRequests: over the limit of the order, of the person, or of the address.
    """
    box = container(request)
    access = opened_by(box, request.cookies.get(ORDER_COOKIE, ""), order_id)
    if access is not None:
        await rates_of(request).count(("order", order_id))
        return desk(request, access)
    signed = await staff.counted_visitor(request)
    if signed is not None and signed.may(Scope.ORDERS_READ) and request.method in ("GET", "HEAD"):
        access = signed.desk.access
    if access is None:
        access = of_anybody(box.settings)
    if access is None:
        await by_address(request)
        raise NotFound("Order not found.", hint="Open it in the browser you ordered with, or use its link.")
    return desk(request, access)


async def _acting(order_id: str, request: Request) -> Desk:
    """As `_holding`, to change something: raises Forbidden where the holder may only look."""
    found = await _holding(order_id, request)
    check(found.access, [Scope.ORDERS_WRITE])
    return found


async def _opening(order_id: str, request: Request) -> Desk | Response:
    """As `_holding`; for a page that was opened by a link, the way to the same address without the
    capability, which becomes a cookie."""
    access = opened_by(container(request), request.query_params.get("c", ""), order_id)
    if access is None:
        return await _holding(order_id, request)
    await rates_of(request).count(("order", order_id))
    answer = RedirectResponse(f"/orders/{order_id}", status_code=303)
    return hand_over(request, answer, access.shop, order_id)


Visiting = Annotated[Desk, asking(_visiting, Scope.ORDERS_WRITE, Scope.MENUS_READ)]
Holding = Annotated[Desk, asking(_holding, Scope.ORDERS_READ)]
Acting = Annotated[Desk, asking(_acting, Scope.ORDERS_WRITE)]
Opened = Annotated[Any, asking(_opening, Scope.ORDERS_READ)]
"""A desk, or the answer that takes the capability out of the address."""
