"""Staff on pages: the session cookie, its CSRF token, and the signed-in person.

A page for staff declares `staff: Reviewer` or `staff: Manager`, or their shop's scope (`ReviewScope`,
`MenuScope`). Visitors without a session are sent to `/sign-in`, and those who must set up two-step sign-in to
that page. Methods that may change something require the session's CSRF token, in the `X-CSRF-Token` header
(htmx) or the form field `csrf`. Templates get it as `staff.csrf`.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import Forbidden
from schemas.shops.access import Scope
from schemas.shops.staff import StaffSession
from services.api.deps import container
from services.api.gate.access import asking, shop_scope
from services.api.gate.origin import is_https
from services.api.gate.rates import by_address, rates_of
from services.shop_scope import ShopScope
from services.web.pages import is_fragment, read_form

HOME, ENROL = "/review", "/account/second-step"
# The maximum lifetime of a session, and its lifetime without use; automatic refreshes don't count as use.
SESSION_S, IDLE_S = 43_200.0, 7_200.0
COOKIE = "saycart_session"
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
POLL_HEADER = "x-saycart-poll"
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who asks: the account's name, the CSRF token of this session, the session, and their shop's
    scope."""

    name: str
    csrf: str
    session: StaffSession
    shop_scope: ShopScope

    def may(self, scope: str) -> bool:
        """Return whether their role has a scope; for templates."""
        return scope in self.shop_scope.access.scopes


async def signed_in(request: Request) -> SignedIn:
    """Return the signed-in staff member.

    Raises:
        HTTPException: 303 to the sign-in page or to the second step's, or 403 for a missing or wrong CSRF
            token.
    """
    staff = await enrolling(request)
    if _must_enrol(staff):
        raise HTTPException(303, "Set up two-step sign-in first.", {"Location": ENROL})
    return staff


async def enrolling(request: Request) -> SignedIn:
    """As `signed_in`, also for those who must set up two-step sign-in: only for the pages to do so."""
    staff = await _counted(request)
    request.state.staff = staff
    if staff is None:
        await by_address(request)
        raise _to_sign_in(request)
    if request.method not in _SAFE_METHODS:
        token = request.headers.get(CSRF_HEADER) or (await read_form(request)).get(CSRF_FIELD)
        if not hmac.compare_digest(token.encode(), staff.csrf.encode()):
            raise HTTPException(403, "This page is out of date. Reload it and try again.")
    return staff


def _signed(*scopes: Scope) -> Any:
    """Return a dependency on a signed-in person whose role has these scopes; raises as `signed_in`, and
    Forbidden if it doesn't."""

    async def holding(staff: Annotated[SignedIn, Depends(signed_in)]) -> SignedIn:
        if not staff.shop_scope.access.scopes.issuperset(scopes):
            raise Forbidden(
                "Your role doesn't have permission to do this.",
                hint="An administrator can change your role: `saycart staff role NAME manager`.",
            )
        return staff

    return asking(holding, *scopes)


Reviewer = Annotated[SignedIn, _signed(Scope.REVIEWS)]
Manager = Annotated[SignedIn, _signed(Scope.MENUS_WRITE)]
Admin = Annotated[SignedIn, _signed(Scope.ADMIN)]
# Any role, for pages of one's own account.
Signed = Annotated[SignedIn, _signed(Scope.MENUS_READ)]
Enrolling = Annotated[SignedIn, asking(enrolling, Scope.MENUS_READ)]


def _reviews(staff: Reviewer) -> ShopScope:
    return staff.shop_scope


def _menus(staff: Manager) -> ShopScope:
    return staff.shop_scope


ReviewScope = Annotated[ShopScope, Depends(_reviews)]
MenuScope = Annotated[ShopScope, Depends(_menus)]


async def _publishes(request: Request, box: MenuScope) -> ShopScope:
    await rates_of(request).count(("menus", box.shop))
    return box


PublishScope = Annotated[ShopScope, Depends(_publishes)]


def visitor(request: Request) -> SignedIn | None:
    """Return the signed-in staff member, or None; for pages that are open to everyone."""
    if not hasattr(request.state, "staff"):
        _set_staff(request, _session_staff(request))
    return cast(SignedIn | None, request.state.staff)


async def counted_visitor(request: Request) -> SignedIn | None:
    """As `visitor`, counted against this person's limit; others aren't counted yet.

    Raises:
        TooManyRequests: over it.
    """
    if not hasattr(request.state, "staff"):
        _set_staff(request, await _counted(request))
    return cast(SignedIn | None, request.state.staff)


def _set_staff(request: Request, staff: SignedIn | None) -> None:
    # `page()` passes this to every template.
    request.state.staff = None if staff is None or _must_enrol(staff) else staff


def csrf_of(token: str) -> str:
    """Derive a session's CSRF token from its secret, so that it needn't be stored."""
    return hmac.new(token.encode(), b"saycart csrf", hashlib.sha256).hexdigest()


def safe_next(wanted: str) -> str:
    """Return `wanted` if it is a path on this site that a header can carry, else the staff's home page."""
    try:
        parts = urlsplit(wanted)
    except ValueError:  # such as `//[`
        return HOME
    ours = not parts.scheme and not parts.netloc and wanted.startswith("/") and wanted[1:2] not in ("/", "\\")
    return wanted if ours and wanted.isascii() and wanted.isprintable() else HOME


def read_cookie(request: Request, name: str) -> str:
    """Return the value of a cookie set by `set_cookie`; empty if there is none."""
    return request.cookies.get(_cookie_name(request, name), "")


def set_cookie(
    request: Request,
    answer: Response,
    name: str,
    value: str,
    age_s: float,
    samesite: Literal["lax", "strict"],
) -> None:
    """Set a secret cookie, which scripts, other hosts and plain http can't read.

    Behind a TLS proxy uvicorn takes the scheme from X-Forwarded-Proto.
    """
    answer.set_cookie(
        _cookie_name(request, name),
        value,
        max_age=int(age_s),
        httponly=True,
        samesite=samesite,
        secure=is_https(request),
    )


def drop_cookie(request: Request, answer: Response, name: str) -> None:
    """Delete a cookie set by `set_cookie`."""
    set_cookie(request, answer, name, "", 0, "lax")


def _cookie_name(request: Request, name: str) -> str:
    # With this prefix a browser accepts the cookie only from this host, over https; another host of the
    # domain
    # can't set it. Over plain http, on loopback, browsers would refuse it.
    return f"__Host-{name}" if is_https(request) else name


async def _counted(request: Request) -> SignedIn | None:
    if not read_cookie(request, COOKIE):
        return None
    staff = await run_in_threadpool(_session_staff, request)
    if staff is not None:
        await rates_of(request).count(("key", f"{staff.session.access.shop} {staff.session.access.actor}"))
    return staff


def _session_staff(request: Request) -> SignedIn | None:
    token = read_cookie(request, COOKIE)
    if not token:
        return None
    box = container(request)
    # Automatic polls don't show that anyone is using the page.
    used = POLL_HEADER not in request.headers
    session = box.sessions.of(token, IDLE_S, used=used)
    if session is None:
        return None
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
