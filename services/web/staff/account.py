"""The staff member's own account: password, two-step sign-in, sessions.

Changes that outlast the session require the password again: a stolen cookie must not be enough.
"""

from __future__ import annotations

import pyotp
import segno
from fastapi import APIRouter, Request
from markupsafe import Markup
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import Conflict, InputError, SaycartError
from services.api.deps import Wired
from services.bootstrap import Container
from services.web.pages import Fields, Form, PageRoute, filled, page, redirect
from services.web.staff.sign_in import provider_name, signed_out
from services.web.staff.staff import COOKIE, ENROL, Enrolling, Signed, SignedIn, read_cookie

router = APIRouter(prefix="/account", include_in_schema=False, route_class=PageRoute)

ISSUER = "saycart"
_DONE = {
    "password": "Password changed. You were signed out everywhere else.",
    "off": "Two-step sign-in is off.",
}


@router.get("")
def account(request: Request, box: Wired, staff: Signed, done: str = "") -> Response:
    """Show the account."""
    return _page(request, box, staff, done=_DONE.get(done))


@router.post("/password")
def change_password(request: Request, box: Wired, staff: Signed, fields: Fields) -> Response:
    """Change the password; all other sessions end."""
    new = fields.password("new")
    try:
        if new != fields.password("again"):
            raise InputError("The new passwords don't match")
        prove_password(box, staff, fields)
        own = staff.session
        box.staff.set_password(own.name, new, keeping=own.id, by=staff.shop_scope.by)
    except SaycartError as error:
        return _page(request, box, staff, error=error, about="password")
    return redirect(request, "/account?done=password")


@router.post("/sign-out-everywhere")
async def sign_out_everywhere(request: Request, box: Wired, staff: Signed) -> Response:
    """End all sessions, including this one."""
    id_token = await run_in_threadpool(box.sessions.end, read_cookie(request, COOKIE))
    await run_in_threadpool(box.sessions.end_all, staff.name, by=staff.shop_scope.by)
    return await signed_out(request, box, id_token)


@router.get("/second-step")
def second_step(request: Request, box: Wired, staff: Enrolling) -> Response:
    """Set up two-step sign-in: first the password, then a code from the app."""
    if staff.session.second_step:
        return redirect(request, "/account")
    return _enrol(request, box, staff)


@router.post("/second-step")
def begin(request: Request, box: Wired, staff: Enrolling, fields: Fields) -> Response:
    """Create a secret, to be confirmed by its first code."""
    try:
        prove_password(box, staff, fields)
        box.second_steps.begin(staff.session)
    except SaycartError as error:
        return _enrol(request, box, staff, error)
    return redirect(request, ENROL)


@router.post("/second-step/confirm")
def confirm(request: Request, box: Wired, staff: Enrolling, fields: Fields) -> Response:
    """Turn two-step sign-in on; this page alone shows the recovery codes."""
    try:
        codes = box.second_steps.confirm(staff.session, fields.get("code"), by=staff.shop_scope.by)
    except (Conflict, InputError) as error:
        return _enrol(request, box, staff, error)
    return page(request, "staff/recovery.html", codes=codes, first=True)


@router.post("/second-step/codes")
def renew_codes(request: Request, box: Wired, staff: Signed, fields: Fields) -> Response:
    """Create new recovery codes; the old ones become invalid."""
    try:
        prove_password(box, staff, fields)
        codes = box.second_steps.renew_codes(staff.session.staff_id, by=staff.shop_scope.by)
    except SaycartError as error:
        return _page(request, box, staff, error=error, about="second step")
    return page(request, "staff/recovery.html", codes=codes, first=False)


@router.post("/second-step/off")
def turn_off(request: Request, box: Wired, staff: Signed, fields: Fields) -> Response:
    """Turn two-step sign-in off, if that is allowed."""
    try:
        if staff.session.needs_second_step:
            raise Conflict("Everyone here needs a code to sign in", hint="Ask your saycart administrator.")
        prove_password(box, staff, fields)
        own = staff.session
        box.second_steps.off(own.name, keeping=own.id, by=staff.shop_scope.by)
    except SaycartError as error:
        return _page(request, box, staff, error=error, about="second step")
    return redirect(request, "/account?done=off")


def prove_password(box: Container, staff: SignedIn, fields: Form) -> None:
    """Check that the form's `current` is the account's password; raises InputError if it isn't, and
    TooManyAttempts or SignInBusy if it wasn't checked."""
    if not box.sign_ins.proves(staff.session, fields.password("current")):
        raise InputError("That's not your current password", hint="Type the one that you sign in with.")


def _page(
    request: Request,
    box: Container,
    staff: SignedIn,
    *,
    done: str | None = None,
    error: SaycartError | None = None,
    about: str = "",
) -> Response:
    own = staff.session
    return filled(
        request,
        "staff/account_page.html",
        error,
        own=own,
        codes_left=box.second_steps.codes_left(own.staff_id) if own.second_step else 0,
        required=own.needs_second_step,
        provider=provider_name(request),
        done=done,
        wrong={about: error} if error else {},
    )


def _enrol(request: Request, box: Container, staff: SignedIn, error: SaycartError | None = None) -> Response:
    secret = box.second_steps.secret(staff.session)
    return filled(
        request,
        "staff/second_step.html",
        error,
        secret=" ".join(secret[i : i + 4] for i in range(0, len(secret), 4)) if secret else None,
        qr=_qr(secret, staff.name) if secret else None,
        required=staff.session.needs_second_step,
        wrong=error,
    )


def _qr(secret: str, name: str) -> Markup:
    """Return the QR code for an authenticator app as inline SVG: no secret may be in the URL of an image."""
    uri = pyotp.TOTP(secret).provisioning_uri(name=name, issuer_name=ISSUER)
    svg = segno.make_qr(uri, error="m").svg_inline(scale=5, light="#fff", svgclass="qr", lineclass=None)
    return Markup(svg)  # noqa: S704 (drawn by us, from base 32 and a percent-encoded name)
