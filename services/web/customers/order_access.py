"""Access of customers, who have no accounts, to order pages and orders.

- The **order page** is at `/` for the shop of the setting `page_shop`, and at `/at/PAGE_KEY` for any shop; a
  kiosk opens the latter once, and a cookie remembers it. It allows ordering and reading the menu.
- An **order** is accessed by a capability (`services/api/routes/links.py`) in an HttpOnly cookie that is sent
  to `/orders/ID` and below only. A link with it (`?c=...`) becomes that cookie.
- Staff of the shop may view an order's page, but change nothing there.
- A **kiosk** is a browser that opened `/kiosk/SHOP`, until it is closed or opens `/`.
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
from services.api.gate.access import check, requiring, shop_scope
from services.api.gate.rates import count_address, rates_of
from services.api.routes.links import LINK_S, capability, opened_by
from services.shop_scope import ShopScope
from services.web.pages import PageRoute, redirect
from services.web.staff import staff
from services.web.staff.staff import set_cookie

router = APIRouter(include_in_schema=False, route_class=PageRoute)

PAGE_COOKIE, VISITOR_COOKIE, ORDER_COOKIE = "saycart_page", "saycart_visitor", "saycart_order"
KIOSK_COOKIE = "saycart_kiosk"
_PAGE_S = 365 * 86_400


def grant_order(request: Request, answer: Response, shop: str, order_id: str) -> Response:
    """Set the cookie with the capability for an order."""
    box = container(request)
    token, path = capability(box, shop, order_id), f"/orders/{order_id}"
    return set_cookie(request, answer, ORDER_COOKIE, token, LINK_S, path=path)


def is_kiosk(request: Request, box: ShopScope) -> bool:
    """Return True if the browser is the shop's kiosk."""
    return request.cookies.get(KIOSK_COOKIE) == box.shop


def looks(request: Request, box: ShopScope, *, kiosk: bool | None = None) -> dict[str, Any]:
    """Return what a page shows of its shop. A new order begins at `home`; pictures come from `host` alone."""
    kiosk = is_kiosk(request, box) if kiosk is None else kiosk
    shop = container(request).shops.get(box.shop)
    brand = shop.brand
    return {
        "kiosk": kiosk,
        "at_once": shop.accepts.at_once,
        "brand": brand if kiosk or brand.colour or brand.logo else None,
        "home": home(box, kiosk=kiosk),
        "host": f"https://{request.url.netloc}/",
    }


def home(box: ShopScope, *, kiosk: bool) -> str:
    return f"/kiosk/{box.shop}" if kiosk else "/"


def visitor_name(request: Request) -> str:
    """Return the browser's random name; a new one if it has none yet."""
    name = request.cookies.get(VISITOR_COOKIE, "")
    return name if name.isalnum() and name.isascii() and len(name) == 32 else secrets.token_hex(16)


def name_visitor(request: Request, answer: Response, name: str) -> Response:
    """Set the cookie with the browser's name, until the browser is closed."""
    return set_cookie(request, answer, VISITOR_COOKIE, name)


@router.get("/at/{page_key}", dependencies=[Depends(count_address)])
def enter(page_key: str, request: Request) -> Response:
    """Open a shop's order page by its public key."""
    if container(request).keys.page_access(page_key) is None:
        raise NotFound("No order page here.", hint="Ask the shop for its link.")
    return set_cookie(request, redirect(request, "/"), PAGE_COOKIE, page_key, _PAGE_S)


async def _visiting(request: Request) -> ShopScope:
    """Return the scope of the page's shop, by the signed-in staff, the page key, or the setting for `/`."""
    box, rates = container(request), rates_of(request)
    signed = await staff.visitor(request)
    if signed is not None:
        return shop_scope(request, Access(signed.shop_scope.shop, "page", VISITOR_SCOPES))
    key = request.cookies.get(PAGE_COOKIE, "")
    access = await run_in_threadpool(box.keys.page_access, key) if key else None
    if access is not None:
        await rates.count(("address", f"{access.actor} {address(request)}"))
        return shop_scope(request, access)
    await count_address(request)
    if not box.settings.page_shop:
        raise NotFound("No order page here.", hint="Use the link the shop gave you.")
    return shop_scope(request, Access(box.settings.page_shop, "page", VISITOR_SCOPES))


async def _holding(order_id: str, request: Request) -> ShopScope:
    """Return the scope for one order: of the customer who holds it, or read-only of its shop's staff. Raises
    TooManyRequests, and NotFound for anyone else, whether or not the order exists."""
    box = container(request)
    access = opened_by(box, request.cookies.get(ORDER_COOKIE, ""), order_id)
    if access is not None:
        await rates_of(request).count(("order", order_id))
        return shop_scope(request, access)
    signed = await staff.visitor(request)
    if signed is not None and signed.may(Scope.ORDERS_READ) and request.method in ("GET", "HEAD"):
        access = signed.shop_scope.access
    if access is None:
        await count_address(request)
        raise NotFound("Order not found.", hint="Open it in the browser you ordered with, or use its link.")
    return shop_scope(request, access)


async def _acting(order_id: str, request: Request) -> ShopScope:
    """As `_holding`, for changes; also raises Forbidden if the access is read-only."""
    box = await _holding(order_id, request)
    check(box.access, [Scope.ORDERS_WRITE])
    return box


async def _opening(order_id: str, request: Request) -> ShopScope | Response:
    """As `_holding`; for a page opened by a link, a redirect that moves the capability into a cookie."""
    access = opened_by(container(request), request.query_params.get("c", ""), order_id)
    if access is None:
        return await _holding(order_id, request)
    await rates_of(request).count(("order", order_id))
    answer = RedirectResponse(f"/orders/{order_id}", status_code=303)
    return grant_order(request, answer, access.shop, order_id)


Visiting = Annotated[ShopScope, requiring(_visiting, Scope.ORDERS_WRITE, Scope.MENUS_READ)]
Holding = Annotated[ShopScope, requiring(_holding, Scope.ORDERS_READ)]
Acting = Annotated[ShopScope, requiring(_acting, Scope.ORDERS_WRITE)]
Opened = Annotated[Any, requiring(_opening, Scope.ORDERS_READ)]
"""A scope, or the redirect that removes the capability from the URL."""
