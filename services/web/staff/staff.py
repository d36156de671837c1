"""Staff on pages: the session's cookie, the CSRF token that is bound to it, and who asks.

A page for staff takes `staff: Reviewer` or `staff: Manager`, or the desk of one (`ReviewDesk`, `MenuDesk`).
It sends a visitor without a session to `/sign-in`, one who has yet to set up a second step that is required
to that, and, for every method that may change something, wants the session's CSRF token, in the
`X-CSRF-Token` header (htmx) or in the form field `csrf`. A template gets it as `staff.csrf`.
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
from services.api.gate.access import asking, desk
from services.api.gate.origin import is_https
from services.api.gate.rates import by_address, rates_of
from services.desk import Desk
from services.web.pages import is_fragment, read_form

HOME, ENROL = "/review", "/account/second-step"
# How long a sign-in lasts at most, and unused; a page that only refreshes itself does not use it.
SESSION_S, IDLE_S = 43_200.0, 7_200.0
COOKIE = "saycart_session"
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
POLL_HEADER = "x-saycart-poll"
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who asks: the account's name, the CSRF token of this session, the session, and the desk of their
    shop."""

    name: str
    csrf: str
    session: StaffSession
    desk: Desk

    def may(self, scope: str) -> bool:
        """For templates: whether their role holds a scope."""
        return scope in self.desk.access.scopes


async def signed_in(request: Request) -> SignedIn:
    """The staff member who asks.

    Raises:
        HTTPException: 303 to the sign-in page or to the second step's, or 403 for a missing or wrong CSRF
            token.
    """
    staff = await enrolling(request)
    if _must_enrol(request, staff):
        raise HTTPException(303, "Set up two-step sign-in first.", {"Location": ENROL})
    return staff


async def enrolling(request: Request) -> SignedIn:
    """As `signed_in`, of those too whose second step is required and not set up yet: for the pages where
    they do it, and no others."""
    staff = await _counted(request)
    request.state.staff = staff
    if staff is None:
        await by_address(request)
        raise _to_sign_in(request)
    if request.method not in _SAFE_METHODS:
        given = request.headers.get(CSRF_HEADER) or (await read_form(request)).get(CSRF_FIELD)
        if not hmac.compare_digest(given.encode(), staff.csrf.encode()):
            raise HTTPException(403, "This page is out of date. Reload it and try again.")
    return staff


def _signed(*scopes: Scope) -> Any:
    """A dependency on a person who is signed in and whose role holds these scopes; raises as `signed_in`, and
    Forbidden where it does not."""

    async def holding(staff: Annotated[SignedIn, Depends(signed_in)]) -> SignedIn:
        if not staff.desk.access.scopes.issuperset(scopes):
            raise Forbidden(
                "Your role doesn't have permission to do this.",
                hint="An administrator can change your role: `saycart staff role NAME manager`.",
            )
        return staff

    return asking(holding, *scopes)


Reviewer = Annotated[SignedIn, _signed(Scope.REVIEWS)]
Manager = Annotated[SignedIn, _signed(Scope.MENUS_WRITE)]
# What all of them hold, for what is one's own.
Signed = Annotated[SignedIn, _signed(Scope.MENUS_READ)]
Enrolling = Annotated[SignedIn, asking(enrolling, Scope.MENUS_READ)]


def _reviews(staff: Reviewer) -> Desk:
    return staff.desk


def _menus(staff: Manager) -> Desk:
    return staff.desk


ReviewDesk = Annotated[Desk, Depends(_reviews)]
MenuDesk = Annotated[Desk, Depends(_menus)]


async def _publishes(request: Request, box: MenuDesk) -> Desk:
    await rates_of(request).count(("menus", box.shop))
    return box


PublishDesk = Annotated[Desk, Depends(_publishes)]


def visitor(request: Request) -> SignedIn | None:
    """The staff member who asks, None for everyone else: for pages that are open to all but greet staff."""
    if not hasattr(request.state, "staff"):
        _greet(request, _asking(request))
    return cast(SignedIn | None, request.state.staff)


async def counted_visitor(request: Request) -> SignedIn | None:
    """As `visitor`, counted against this person's limit; of everyone else nothing is counted yet.

    Raises:
        TooManyRequests: over it.
    """
    if not hasattr(request.state, "staff"):
        _greet(request, await _counted(request))
    return cast(SignedIn | None, request.state.staff)


def _greet(request: Request, staff: SignedIn | None) -> None:
    # `page()` hands this to every template.
    request.state.staff = None if staff is None or _must_enrol(request, staff) else staff


def csrf_of(token: str) -> str:
    """The CSRF token of a session: made from its secret, so nothing more has to be stored."""
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
    """The value that `set_cookie` gave under `name`; empty when there is none."""
    return request.cookies.get(_cookie_name(request, name), "")


def set_cookie(
    request: Request,
    answer: Response,
    name: str,
    value: str,
    lasting_s: float,
    samesite: Literal["lax", "strict"],
) -> None:
    """Hand the browser a secret that no script, no other host and no plain http gets to see.

    Behind a proxy that ends TLS uvicorn takes the scheme from X-Forwarded-Proto.
    """
    answer.set_cookie(
        _cookie_name(request, name),
        value,
        max_age=int(lasting_s),
        httponly=True,
        samesite=samesite,
        secure=is_https(request),
    )


def drop_cookie(request: Request, answer: Response, name: str) -> None:
    """Have the browser forget what `set_cookie` gave."""
    set_cookie(request, answer, name, "", 0, "lax")


def _cookie_name(request: Request, name: str) -> str:
    # With this prefix a browser takes the cookie from this very host alone, and over https: another host of
    # the same domain can't slip one in. Over plain http, on loopback, no browser would take it.
    return f"__Host-{name}" if is_https(request) else name


async def _counted(request: Request) -> SignedIn | None:
    if not read_cookie(request, COOKIE):
        return None
    staff = await run_in_threadpool(_asking, request)
    if staff is not None:
        await rates_of(request).count(("key", f"{staff.session.access.shop} {staff.session.access.actor}"))
    return staff


def _asking(request: Request) -> SignedIn | None:
    token = read_cookie(request, COOKIE)
    if not token:
        return None
    box = container(request)
    # What a page asks for by itself every few seconds says nothing about whether anybody sits before it.
    used = POLL_HEADER not in request.headers
    session = box.sessions.of(token, IDLE_S, used=used)
    if session is None:
        return None
    return SignedIn(session.name, csrf_of(token), session, desk(request, session.access))


def _must_enrol(request: Request, staff: SignedIn) -> bool:
    # Of a person who comes by the provider's word, a second step is the provider's to ask for (ADR 60).
    own = staff.session
    required = container(request).settings.staff_totp == "required"
    return required and not own.second_step and not own.by_provider


def _to_sign_in(request: Request) -> HTTPException:
    if is_fragment(request):
        # Back to the whole page, and not to the piece of it that htmx asked for.
        back = urlsplit(request.headers.get("hx-current-url", "")).path
    elif request.method in _SAFE_METHODS:
        back = request.url.path + (f"?{request.url.query}" if request.url.query else "")
    else:
        back = HOME
    return HTTPException(
        303, "Sign in first.", {"Location": f"/sign-in?{urlencode({'next': safe_next(back)})}"}
    )
