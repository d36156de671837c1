"""Staff sign-in: the cookie, the CSRF token that is bound to it, and who asks.

Any page for staff takes `staff: Signed`. It sends a visitor without a session to `/sign-in` and, for every
method that may change something, wants the session's CSRF token, in the `X-CSRF-Token` header (htmx) or in
the form field `csrf`. A template gets it as `staff.csrf`.
"""

from __future__ import annotations

import hashlib
import hmac
from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlencode, urlsplit

from fastapi import Depends, HTTPException, Request
from starlette.concurrency import run_in_threadpool

from services.bootstrap import Container

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
        HTTPException: 303 to the sign-in page (for htmx its HX-Redirect), or 403 for a wrong CSRF token.
    """
    staff = await run_in_threadpool(visitor, request)
    if staff is None:
        raise _to_sign_in(request)
    if request.method not in _SAFE_METHODS:
        given = request.headers.get(CSRF_HEADER) or (await request.form()).get(CSRF_FIELD)
        if not isinstance(given, str) or not hmac.compare_digest(given.encode(), staff.csrf.encode()):
            raise HTTPException(403, "This page is out of date; load it again and repeat what you did.")
    return staff


Signed = Annotated[SignedIn, Depends(signed_in)]


def visitor(request: Request) -> SignedIn | None:
    """The staff member who asks, None for everyone else: for pages that greet staff and are open to all."""
    token = request.cookies.get(COOKIE, "")
    box: Container = request.app.state.container
    staff = box.staff.session(token) if token else None
    return None if staff is None else SignedIn(staff.name, csrf_of(token))


def csrf_of(token: str) -> str:
    """The CSRF token of a session: made from its secret, so nothing more has to be stored."""
    return hmac.new(token.encode(), b"saycart csrf", hashlib.sha256).hexdigest()


def safe_next(wanted: str) -> str:
    """Where to go after signing in: a path of ours, whatever the address bar was made to say."""
    parts = urlsplit(wanted)
    ours = not parts.scheme and not parts.netloc and wanted.startswith("/") and wanted[1:2] not in ("/", "\\")
    return wanted if ours and wanted.isprintable() else "/review"


def _to_sign_in(request: Request) -> HTTPException:
    if request.headers.get("hx-request"):
        # Back to the whole page and not to the fragment that htmx asked for.
        shown = urlsplit(request.headers.get("hx-current-url", ""))
        address = f"/sign-in?{urlencode({'next': safe_next(shown.path)})}"
        return HTTPException(401, "Sign in first.", headers={"HX-Redirect": address})
    path = request.url.path if request.method in _SAFE_METHODS else "/review"
    query = f"?{request.url.query}" if request.url.query and request.method in _SAFE_METHODS else ""
    return HTTPException(303, "Sign in first.", {"Location": f"/sign-in?{urlencode({'next': path + query})}"})
