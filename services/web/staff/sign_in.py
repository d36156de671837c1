"""Signing in and out: name and password, then a code where the account has a second step."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

import structlog
from fastapi import APIRouter, Depends, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import InputError, NotFound, SaycartError, SignInBusy, TooManyAttempts
from schemas.shops.staff import Entered, Halfway
from services.api import problems
from services.api.deps import Wired
from services.api.gate.access import acting
from services.api.gate.rates import by_address
from services.bootstrap import Container
from services.web.pages import Fields, PageRoute, go, page
from services.web.staff.leaving import provider_name, signed_out
from services.web.staff.staff import (
    COOKIE,
    HOME,
    SESSION_S,
    Enrolling,
    drop_cookie,
    read_cookie,
    safe_next,
    set_cookie,
    visitor,
)
from services.web.staff.visits import visit_of

log = structlog.get_logger(__name__)

router = APIRouter(include_in_schema=False, route_class=PageRoute)

# A visitor who signs in has nothing to show yet.
OPEN = [Depends(by_address)]
STEP_COOKIE = "saycart_step"
# As long as storage waits for the code.
STEP_S = 300


@router.get("/sign-in", dependencies=OPEN)
def ask(request: Request, next: str = HOME, late: str = "") -> Response:
    """The form; a person who is signed in already is sent on."""
    if visitor(request) is not None:
        return go(request, safe_next(next))
    wrong = "That took too long. Start again with your name and password." if late else None
    shown: dict[str, Any] = {"next": safe_next(next), "name": "", "wrong": wrong}
    return page(request, "staff/sign_in.html", provider=provider_name(request), **shown)


@router.post("/sign-in", dependencies=OPEN)
async def sign_in(request: Request, box: Wired, fields: Fields) -> Response:
    """Check name and password. The gate has refused forms of other sites already."""
    name, after = fields.get("name"), safe_next(fields.get("next"))
    # Not `get`, which strips: a password may begin with a space.
    password = (fields.all("password") or [""])[0]
    form = {"template": "staff/sign_in.html", "next": after, "name": name}
    try:
        got = await run_in_threadpool(box.sign_ins.by_password, name, password, visit_of(request), SESSION_S)
    except (TooManyAttempts, SignInBusy) as error:
        return _refused(request, error, **form)
    if got is None:
        return _refused(request, InputError("Wrong name or password"), **form)
    if isinstance(got, Halfway):
        answer = go(request, f"/sign-in/code?{urlencode({'next': after})}")
        set_cookie(request, answer, STEP_COOKIE, got.token, STEP_S, "strict")
        return answer
    return await entered(request, box, got, name, after)


@router.get("/sign-in/code", dependencies=OPEN)
def ask_code(request: Request, box: Wired, next: str = HOME) -> Response:
    """The form for the code, after the right password."""
    if box.sign_ins.halfway(read_cookie(request, STEP_COOKIE)) is None:
        return go(request, f"/sign-in?{urlencode({'next': safe_next(next), 'late': '1'})}")
    return page(request, "staff/code.html", next=safe_next(next), wrong=None)


@router.post("/sign-in/code", dependencies=OPEN)
async def sign_in_by_code(request: Request, box: Wired, fields: Fields) -> Response:
    """Check the code. Its cookie is SameSite=Strict, so no other site's form gets here with it."""
    token, after = read_cookie(request, STEP_COOKIE), safe_next(fields.get("next"))
    code = fields.get("code")
    name = await run_in_threadpool(box.sign_ins.halfway, token)
    form = {"template": "staff/code.html", "next": after}
    by = acting(request, f"staff:{name}")
    try:
        got = await run_in_threadpool(box.sign_ins.by_code, token, code, visit_of(request), SESSION_S, by=by)
    except NotFound:
        return go(request, f"/sign-in?{urlencode({'next': after, 'late': '1'})}")
    except (TooManyAttempts, SignInBusy) as error:
        return _refused(request, error, **form)
    if got is None:
        return _refused(request, InputError("Wrong code, or already used"), **form)
    answer = await entered(request, box, got, name or "", after)
    drop_cookie(request, answer, STEP_COOKIE)
    return answer


@router.post("/sign-out")
async def sign_out(request: Request, box: Wired, _staff: Enrolling) -> Response:
    """End this session, here and in the database; one that the provider's word began, there as well."""
    id_token = await run_in_threadpool(box.sessions.end, read_cookie(request, COOKIE))
    return await signed_out(request, box, id_token)


async def entered(request: Request, box: Container, got: Entered, name: str, after: str) -> Response:
    """The browser with its new session, in place of the one that it had."""
    if old := read_cookie(request, COOKIE):
        await run_in_threadpool(box.sessions.end, old)
    log.info("staff.signed_in", staff=name)
    answer = go(request, after)
    set_cookie(request, answer, COOKIE, got.token, SESSION_S, "lax")
    return answer


def _refused(request: Request, error: SaycartError, *, template: str, **form: str) -> Response:
    """The form again, with what was wrong. 401 for a wrong answer, 429 and 503 with Retry-After."""
    problem, headers = problems.describe(request, error)
    status = problem.status if isinstance(error, TooManyAttempts | SignInBusy) else 401
    # Not the name: what is typed into that field by mistake may be a password.
    log.info("staff.sign_in_refused", code=error.code, status=status)
    wrong = f"{error.detail}."
    # Only the form for name and password has the provider's button; that for the code takes no notice.
    return page(
        request,
        template,
        status=status,
        headers=headers,
        wrong=wrong,
        provider=provider_name(request),
        **form,
    )
