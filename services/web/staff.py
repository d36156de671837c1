"""Staff sign-in: the cookie, the CSRF token that is bound to it, and who asks.

Any page for staff takes `staff: Signed`. It sends a visitor without a session to `/sign-in` and, for every
method that may change something, wants the session's CSRF token, in the `X-CSRF-Token` header (htmx) or in
the form field `csrf`. A template gets it as `staff.csrf`.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated, cast
from urllib.parse import urlencode, urlsplit

from fastapi import APIRouter, Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import TooManyAttempts
from services.api.deps import Wired
from services.api.origin import is_https
from services.bootstrap import Container
from services.web.pages import Fields, PageRoute, go, is_fragment, page, read_form

router = APIRouter(include_in_schema=False, route_class=PageRoute)

HOME = "/review"
COOKIE = "saycart_session"
CSRF_FIELD, CSRF_HEADER = "csrf", "x-csrf-token"
_SAFE_METHODS = frozenset({"GET", "HEAD"})


@dataclass(frozen=True, slots=True)
class SignedIn:
    """Who asks: the account's name, and the CSRF token of this session."""

    name: str
    csrf: str


async def signed_in(request: Request) -> SignedIn:
    """The staff member who asks.

    Raises:
        HTTPException: 303 to the sign-in page, or 403 for a missing or wrong CSRF token.
    """
    staff = await run_in_threadpool(visitor, request)
    if staff is None:
        raise _to_sign_in(request)
    if request.method not in _SAFE_METHODS:
        given = request.headers.get(CSRF_HEADER) or (await read_form(request)).get(CSRF_FIELD)
        if not hmac.compare_digest(given.encode(), staff.csrf.encode()):
            raise HTTPException(403, "This page is out of date: load it again, then repeat what you did.")
    return staff


Signed = Annotated[SignedIn, Depends(signed_in)]


def visitor(request: Request) -> SignedIn | None:
    """The staff member who asks, None for everyone else: for pages that are open to all but greet staff."""
    token = request.cookies.get(COOKIE, "")
    box: Container = request.app.state.container
    account = box.staff.session(token) if token else None
    # `page()` hands this to every template.
    request.state.staff = None if account is None else SignedIn(account.name, csrf_of(token))
    return cast(SignedIn | None, request.state.staff)


def csrf_of(token: str) -> str:
    """The CSRF token of a session: made from its secret, so nothing more has to be stored."""
    return hmac.new(token.encode(), b"saycart csrf", hashlib.sha256).hexdigest()


def safe_next(wanted: str) -> str:
    """Where to go after signing in: a path of ours, whatever the address bar was made to say."""
    parts = urlsplit(wanted)
    ours = not parts.scheme and not parts.netloc and wanted.startswith("/") and wanted[1:2] not in ("/", "\\")
    return wanted if ours and wanted.isprintable() else HOME


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


@router.get("/sign-in")
def ask(request: Request, next: str = HOME) -> Response:
    """The form; whoever is signed in already is sent on."""
    if visitor(request) is not None:
        return go(request, safe_next(next))
    return page(request, "staff/sign_in.html", next=safe_next(next), name="", wrong=None)


@router.post("/sign-in")
def sign_in(request: Request, box: Wired, fields: Fields) -> Response:
    """Check name and password, begin a session. The gate has refused forms of other sites already."""
    lasting_s = box.settings.staff_session_s
    name, after = fields.get("name"), safe_next(fields.get("next"))
    try:
        # Not `get`, which strips: a password may begin with a space.
        token = box.staff.sign_in(name, (fields.all("password") or [""])[0], lasting_s)
        wrong = "Name or password is not right."
    except TooManyAttempts as error:
        token, wrong = None, f"{error.detail}."
    if token is None:
        return page(request, "staff/sign_in.html", status=401, next=after, name=name, wrong=wrong)
    answer = go(request, after)
    answer.set_cookie(
        COOKIE,
        token,
        max_age=int(lasting_s),
        httponly=True,
        samesite="lax",
        secure=is_https(request),
    )
    return answer


@router.post("/sign-out")
def sign_out(request: Request, box: Wired, _staff: Signed) -> Response:
    """End this session, here and in the database."""
    box.staff.sign_out(request.cookies.get(COOKIE, ""))
    answer = go(request, "/sign-in")
    answer.delete_cookie(COOKIE, httponly=True, samesite="lax")
    return answer
