"""Sign-in and sign-out: name and password, then a code if two-step sign-in is on."""

from __future__ import annotations

from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import InputError, NotFound, ProviderAway, SaycartError, SignInBusy, TooManyAttempts
from schemas.shops.staff import Halfway
from services.api.deps import Wired, address, container, own_address
from services.api.gate.access import actor_of
from services.api.gate.rates import count_address
from services.bootstrap import Container
from services.web.pages import Fields, PageRoute, filled, page, redirect
from services.web.staff.staff import (
    COOKIE,
    HOME,
    SESSION_S,
    Enrolling,
    drop_cookie,
    host_name,
    read_cookie,
    safe_next,
    set_cookie,
    visitor,
)

log = structlog.get_logger(__name__)

router = APIRouter(include_in_schema=False, route_class=PageRoute)

# No credential is needed to sign in.
OPEN = [Depends(count_address)]
STEP_COOKIE = "saycart_step"
# As long as storage accepts the code.
STEP_S = 300


@router.get("/sign-in", dependencies=OPEN)
async def ask(request: Request, next: str = HOME, late: str = "") -> Response:
    """Show the form, or redirect someone who is signed in."""
    if await visitor(request) is not None:
        return redirect(request, safe_next(next))
    wrong = "That took too long. Start again with your name and password." if late else None
    provider = provider_name(request)
    return page(request, "staff/sign_in.html", next=safe_next(next), name="", wrong=wrong, provider=provider)


@router.post("/sign-in", dependencies=OPEN)
async def sign_in(request: Request, box: Wired, fields: Fields) -> Response:
    """Check name and password. The middleware has refused other sites' forms already."""
    name, after = fields.get("name"), safe_next(fields.get("next"))
    password = fields.password("password")
    form = {"template": "staff/sign_in.html", "next": after, "name": name}
    try:
        result = await run_in_threadpool(
            box.sign_ins.by_password, name, password, address(request), SESSION_S
        )
        if result is None:
            raise InputError("Wrong name or password")
    except (InputError, SignInBusy) as error:
        return _refused(request, error, **form)
    if isinstance(result, Halfway):
        answer = redirect(request, f"/sign-in/code?{urlencode({'next': after})}")
        step = host_name(request, STEP_COOKIE)
        set_cookie(request, answer, step, result.token, STEP_S, samesite="strict")
        return answer
    return await entered(request, box, result, name, after)


@router.get("/sign-in/code", dependencies=OPEN)
def ask_code(request: Request, box: Wired, next: str = HOME) -> Response:
    """Show the form for the code, after the correct password."""
    if box.sign_ins.halfway(read_cookie(request, STEP_COOKIE)) is None:
        return redirect(request, f"/sign-in?{urlencode({'next': safe_next(next), 'late': '1'})}")
    return page(request, "staff/code.html", next=safe_next(next), wrong=None)


@router.post("/sign-in/code", dependencies=OPEN)
async def sign_in_by_code(request: Request, box: Wired, fields: Fields) -> Response:
    """Check the code. Its cookie is SameSite=Strict, so no other site's form gets here with it."""
    token, after = read_cookie(request, STEP_COOKIE), safe_next(fields.get("next"))
    code = fields.get("code")
    name = await run_in_threadpool(box.sign_ins.halfway, token)
    form = {"template": "staff/code.html", "next": after}
    by = actor_of(request, f"staff:{name}")
    try:
        session = await run_in_threadpool(
            box.sign_ins.by_code, token, code, address(request), SESSION_S, by=by
        )
        if session is None:
            raise InputError("Wrong code, or already used")
    except NotFound:
        return redirect(request, f"/sign-in?{urlencode({'next': after, 'late': '1'})}")
    except (InputError, SignInBusy) as error:
        return _refused(request, error, **form)
    answer = await entered(request, box, session, name or "", after)
    drop_cookie(request, answer, STEP_COOKIE)
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, box: Wired, _staff: Enrolling) -> Response:
    """End this session; if the provider started it, at the provider as well."""
    id_token = await run_in_threadpool(box.sessions.end, read_cookie(request, COOKIE))
    return await signed_out(request, box, id_token)


async def entered(request: Request, box: Container, token: str, name: str, after: str) -> Response:
    """Set the cookie of a new session, and end the browser's old one."""
    if old := read_cookie(request, COOKIE):
        await run_in_threadpool(box.sessions.end, old)
    log.info("staff.signed_in", staff=name)
    answer = redirect(request, after)
    set_cookie(request, answer, host_name(request, COOKIE), token, SESSION_S)
    return answer


def provider_name(request: Request) -> str | None:
    """Return the provider's name, or None if none is configured."""
    provider = container(request).settings.oidc
    return provider.name if provider else None


def leave(request: Request, where: str, *, signing_out: bool = False) -> Response:
    """Return the page that leads to the provider: `form-action 'self'` forbids a form to redirect there."""
    return page(
        request,
        "staff/leaving.html",
        where=where,
        provider=provider_name(request),
        signing_out=signing_out,
        staff=None,
    )


async def signed_out(request: Request, box: Container, id_token: str | None) -> Response:
    """Delete the session cookie; continue to the sign-out page of the provider that started the session."""
    answer = redirect(request, "/sign-in")
    if id_token is not None and box.provider is not None:
        try:
            where = await box.provider.sign_out_address(id_token, own_address(request, "/sign-in"))
        except ProviderAway:
            where = None  # it is down; our session is over anyway
        if where:
            answer = leave(request, where, signing_out=True)
    drop_cookie(request, answer, COOKIE)
    return answer


def _refused(request: Request, error: SaycartError, *, template: str, **form: str) -> Response:
    """Show the form again with the error: 401 for wrong input, 429 and 503 with Retry-After."""
    status = None if isinstance(error, TooManyAttempts | SignInBusy) else 401
    # Without the name: people type passwords into that field by mistake.
    log.info("staff.sign_in_refused", code=error.code)
    # Only the form for name and password shows the provider's button.
    shown = form | {"wrong": f"{error.detail}.", "provider": provider_name(request)}
    return filled(request, template, error, status=status, **shown)
