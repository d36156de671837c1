"""Staff on pages: the session cookie, its CSRF token, and the signed-in person.

A page for staff declares `staff: Admin` or `staff: Signed`, or their shop's scope (`ReviewScope`,
`MenuScope`). Visitors without a session are sent to `/sign-in`, and those who must set up two-step sign-in to
that page. Methods that may change something require the session's CSRF token, in the `X-CSRF-Token` header
(htmx) or the form field `csrf`. Templates get it as `staff.csrf`.
"""

from __future__ import annotations

import hashlib
import hmac
import secrets
from dataclasses import dataclass
from typing import Annotated, Any, Literal
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import Forbidden
from schemas.shops.access import ROLE_SCOPES, Role, Scope
from schemas.shops.staff import StaffSession
from services.api.deps import container
from services.api.gate.access import requiring, shop_scope
from services.api.gate.origin import is_https
from services.api.gate.rates import count_address, rates_of
from services.shop_scope import ShopScope
from services.web.pages import POLL_HEADER, is_fragment, read_form

HOME, ENROL = "/review", "/account/second-step"
# The maximum lifetime of a session, and its lifetime without use; automatic refreshes don't count as use.
SESSION_S, IDLE_S = 43_200.0, 7_200.0
COOKIE = "saycart_session"
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class SignedIn:
    """A signed-in person; `csrf` is the token of their session."""

    name: str
    csrf: str
    session: StaffSession
    shop_scope: ShopScope

    def may(self, scope: str) -> bool:
        """Return True if their role has a scope; for templates."""
        return scope in self.shop_scope.access.scopes


async def signed_in(request: Request) -> SignedIn:
    """Return the signed-in staff member; raises HTTPException: 303 to sign in, 403 for a wrong CSRF token."""
    staff = await enrolling(request)
    if _must_enrol(staff):
        raise HTTPException(303, "Set up two-step sign-in first.", {"Location": ENROL})
    return staff


async def enrolling(request: Request) -> SignedIn:
    """As `signed_in`, also for those who must set up two-step sign-in: only for the pages to do so."""
    staff = await _counted(request)
    request.state.staff = staff
    if staff is None:
        await count_address(request)
        raise _to_sign_in(request)
    if request.method not in _SAFE_METHODS:
        token = request.headers.get(CSRF_HEADER) or (await read_form(request)).get(CSRF_FIELD)
        if not hmac.compare_digest(token.encode(), csrf_of(read_cookie(request, COOKIE), token).encode()):
            raise HTTPException(403, "This page is out of date. Reload it and try again.")
    return staff


def _signed(*scopes: Scope, shop: bool = False) -> Any:
    """Return a dependency on a signed-in person whose role has these scopes, or on their `shop`; else it
    raises Forbidden."""
    role = next(role for role in Role if ROLE_SCOPES[role].issuperset(scopes))

    async def holding(staff: Annotated[SignedIn, Depends(signed_in)]) -> SignedIn | ShopScope:
        if not staff.shop_scope.access.scopes.issuperset(scopes):
            raise Forbidden(
                f"You need the role {role}.",
                hint=f"An administrator can change your role: `saycart staff role NAME {role}`.",
            )
        return staff.shop_scope if shop else staff

    return requiring(holding, *scopes)


ReviewScope = Annotated[ShopScope, _signed(Scope.REVIEWS, shop=True)]
MenuScope = Annotated[ShopScope, _signed(Scope.MENUS_WRITE, shop=True)]
Admin = Annotated[SignedIn, _signed(Scope.ADMIN)]
# Any role, for pages of one's own account.
Signed = Annotated[SignedIn, _signed(Scope.MENUS_READ)]
Enrolling = Annotated[SignedIn, requiring(enrolling, Scope.MENUS_READ)]


async def _publishes(request: Request, box: MenuScope) -> ShopScope:
    await rates_of(request).count(("menus", box.shop))
    return box


PublishScope = Annotated[ShopScope, Depends(_publishes)]


async def visitor(request: Request) -> SignedIn | None:
    """Return the signed-in staff member or None, for pages open to everyone; raises TooManyRequests."""
    staff = await _counted(request)
    if staff is not None and _must_enrol(staff):
        staff = None
    request.state.staff = staff  # `page()` passes it to every template
    return staff


def csrf_of(token: str, earlier: str = "") -> str:
    """Derive a session's CSRF token from its secret: a new one for each response, so that the length of a
    compressed page reveals nothing of it (BREACH), or the `earlier` one, if that is valid."""
    salt = earlier[:16] or secrets.token_hex(8)
    return salt + hmac.new(token.encode(), f"saycart csrf {salt}".encode(), hashlib.sha256).hexdigest()[:48]


def safe_next(wanted: str) -> str:
    """Return `wanted` if it is a path on this site that a cookie can carry, else the staff's home page."""
    try:
        parts = urlsplit(wanted)
    except ValueError:  # such as `//[`
        return HOME
    ours = not parts.scheme and not parts.netloc and wanted.startswith("/") and wanted[1:2] not in ("/", "\\")
    return wanted if ours and wanted.isascii() and wanted.isprintable() and len(wanted) <= 2000 else HOME


def read_cookie(request: Request, name: str) -> str:
    """Return the value of a cookie with this `host_name`; empty if there is none."""
    return request.cookies.get(host_name(request, name), "")


def set_cookie(
    request: Request,
    answer: Response,
    name: str,
    value: str,
    age_s: float | None = None,
    *,
    path: str = "/",
    samesite: Literal["lax", "strict"] = "lax",
) -> Response:
    """Set a cookie that scripts can't read and other sites' forms don't send."""
    age = None if age_s is None else int(age_s)
    secure = is_https(request)
    answer.set_cookie(name, value, max_age=age, path=path, httponly=True, samesite=samesite, secure=secure)
    return answer


def drop_cookie(request: Request, answer: Response, name: str) -> None:
    """Delete a cookie with this `host_name`."""
    set_cookie(request, answer, host_name(request, name), "", 0)


def host_name(request: Request, name: str) -> str:
    """Return the name of a cookie that, over https, no other host of the domain can set."""
    return f"__Host-{name}" if is_https(request) else name


async def _counted(request: Request) -> SignedIn | None:
    token = read_cookie(request, COOKIE)
    if not token:
        return None
    # Automatic polls don't show that anyone is using the page.
    used = POLL_HEADER not in request.headers
    session = await run_in_threadpool(container(request).sessions.of, token, IDLE_S, used=used)
    if session is None:
        return None
    await rates_of(request).count(("key", f"{session.access.shop} {session.access.actor}"))
    return SignedIn(session.name, csrf_of(token), session, shop_scope(request, session.access))


def _must_enrol(staff: SignedIn) -> bool:
    # For sign-ins through the provider, the second step is the provider's (ADR 60).
    own = staff.session
    return own.needs_second_step and not own.second_step and not own.by_provider


def _to_sign_in(request: Request) -> HTTPException:
    if is_fragment(request):
        # Back to the whole page, not to the fragment that htmx requested.
        back = urlsplit(request.headers.get("hx-current-url", "")).path
    elif request.method in _SAFE_METHODS:
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    else:
        back = HOME
    return HTTPException(
        303, "Sign in first.", {"Location": f"/sign-in?{urlencode({'next': safe_next(back)})}"}
    )
