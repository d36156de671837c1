"""Administration at `/staff/admin`, for admins: a page each for keys, people, webhooks and settings.

Actions use the same stores as the commands of `saycart`, and require the password again. A secret is shown
once, in the response to the form that created it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any

from anyio import CapacityLimiter, to_thread
from fastapi import APIRouter, Request
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.responses import Response

from schemas.errors import Forbidden, SaycartError
from services.api.deps import Wired
from services.bootstrap import Container
from services.shop_scope import ShopScope
from services.web.pages import Fields, Form, PageRoute, filled, redirect
from services.web.staff.account import prove_password
from services.web.staff.admin import keys, people, settings, webhooks
from services.web.staff.sign_in import provider_name
from services.web.staff.staff import SESSION_S, Admin, SignedIn

SECTION = "/staff/admin"
router = APIRouter(prefix=SECTION, include_in_schema=False, route_class=PageRoute)

Action = Callable[[ShopScope, Form], tuple[str, str] | None]
"""Apply a form; return the label and the value of a secret if it created one."""
PAGES: dict[str, tuple[Callable[[ShopScope], dict[str, Any]], Mapping[str, Action]]] = {
    "keys": (keys.content, keys.ACTIONS),
    "people": (people.content, people.ACTIONS),
    "webhooks": (webhooks.content, webhooks.ACTIONS),
    "settings": (settings.content, settings.ACTIONS),
}
# Sign-ins through the provider, which have no password to repeat, count as proof for so long.
FRESH_S = 600.0
# A receiver may take 15 s: more tests must not occupy the threads that serve customers.
_TESTS = CapacityLimiter(2)


@router.get("")
@router.get("/{name}")
def show(request: Request, staff: Admin, name: str = "keys", done: str = "") -> Response:
    """Show a page; `done` after a change."""
    return _page(request, staff, name, done=bool(done))


@router.post("/{name}/{action}")
def act(name: str, action: str, request: Request, box: Wired, staff: Admin, fields: Fields) -> Response:
    """Check the person's proof and apply an action; after an error the form keeps its fields."""
    if name not in PAGES or action not in PAGES[name][1]:
        raise HTTPException(404)
    try:
        _prove(box, staff, fields)
        secret = PAGES[name][1][action](staff.shop_scope, fields)
    except SaycartError as error:
        return _page(request, staff, name, wrong=error, fields=fields)
    if secret is None:
        return redirect(request, f"{SECTION}/{name}?done=1")
    return _page(request, staff, name, secret=secret)


@router.post("/webhooks/{endpoint_id}/test")
async def test(endpoint_id: str, request: Request, staff: Admin) -> Response:
    """Send a signed `order.test` once, and show what came back."""
    sent = await to_thread.run_sync(webhooks.test, staff.shop_scope, endpoint_id, limiter=_TESTS)
    return await run_in_threadpool(_page, request, staff, "webhooks", tested=endpoint_id, sent=sent)


def _page(request: Request, staff: SignedIn, name: str, **more: Any) -> Response:
    if name not in PAGES:
        raise HTTPException(404)
    shown: dict[str, Any] = {"wrong": None, "fields": Form({}), "secret": None, "done": False, "tested": None}
    shown |= {"provider": provider_name(request), "by_provider": staff.session.by_provider}
    shown |= PAGES[name][0](staff.shop_scope) | more
    return filled(request, f"admin/{name}.html", shown["wrong"], **shown)


def _prove(box: Container, staff: SignedIn, fields: Form) -> None:
    """Raise as `prove_password`, or Forbidden if the sign-in at the provider is over ten minutes old."""
    if not staff.session.by_provider:
        prove_password(box, staff, fields)
    elif (staff.session.expires_at - datetime.now(UTC)).total_seconds() < SESSION_S - FRESH_S:
        hint = "Sign out, sign in again, and repeat the change."
        raise Forbidden("You signed in over ten minutes ago", hint=hint)
