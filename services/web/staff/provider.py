"""Signing in by a provider of one's own (OpenID Connect, ADR 60): there, and back again.

The browser holds one random secret meanwhile, in a cookie that comes back with a link from another site
(SameSite=Lax) and that over https no other host can set (`__Host-`). State, nonce and PKCE's verifier are
made from it, so an answer counts in the browser that asked for it, and there once.
"""

from __future__ import annotations

import hmac
from functools import partial
from typing import Annotated

import structlog
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from infra.oidc import NotBelieved, Provider, ProviderAway, ProviderBusy, Secrets, new_attempt
from infra.oidc_url import OidcProvider
from schemas.errors import NotFound, SaycartError, SignInBusy, TooManyAttempts
from schemas.shops.sign_in_errors import NotBegunHere, NotLetIn
from schemas.shops.sign_in_errors import ProviderAway as Away
from schemas.shops.staff import PROVIDER_FLOW_S, Identity
from services.api.deps import Wired
from services.api.gate.access import acting
from services.api.gate.rates import by_address
from services.bootstrap import Container
from services.web.pages import Fields, PageRoute, problem_page
from services.web.staff.leaving import leave, own_address
from services.web.staff.sign_in import entered
from services.web.staff.staff import SESSION_S, drop_cookie, read_cookie, safe_next, set_cookie
from services.web.staff.visits import visit_of

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/sign-in/oidc", include_in_schema=False, route_class=PageRoute)

OPEN = [Depends(by_address)]
FLOW_COOKIE = "saycart_oidc"
CALLBACK = "/sign-in/oidc/callback"
PAGE = "staff/not_signed_in.html"
# Longer than any provider's; what is longer goes nowhere.
Answered = Annotated[str | None, Query(max_length=4096)]
# Errors of an authorization endpoint (RFC 6749, 4.1.2.1) after which another try may go well.
_PASSING = frozenset({"server_error", "temporarily_unavailable"})


@router.post("", dependencies=OPEN)
async def begin(request: Request, box: Wired, fields: Fields) -> Response:
    """Go to the provider. The gate has refused forms of other sites already."""
    provider, token = _provider(box), new_attempt()
    try:
        where = await provider.address(token, own_address(request, CALLBACK))
    except (ProviderAway, ProviderBusy) as error:
        return _refused(request, _ours(box, error))
    after = safe_next(fields.get("next"))
    await run_in_threadpool(box.provider_sign_ins.begin, token, after)
    answer = leave(request, where)
    set_cookie(request, answer, FLOW_COOKIE, token, PROVIDER_FLOW_S, "lax")
    return answer


@router.get("/callback", dependencies=OPEN)
async def back(
    request: Request,
    box: Wired,
    state: Answered = None,
    code: Answered = None,
    error: Answered = None,
    iss: Answered = None,
) -> Response:
    """Come back from there. Whatever is wrong ends in a page with the way on, and never in a session."""
    provider, token = _provider(box), read_cookie(request, FLOW_COOKIE)
    if not token or not hmac.compare_digest((state or "").encode(), Secrets.of(token).state.encode()):
        # What was begun here stays: anybody can send a browser to this address.
        return _refused(request, NotBegunHere("This sign-in wasn't started in this browser"))
    try:
        answer = await _come_in(request, box, provider, token, code, error, iss)
    except (SaycartError, ProviderAway, ProviderBusy, NotBelieved) as refused:
        answer = _refused(request, _ours(box, refused))
    drop_cookie(request, answer, FLOW_COOKIE)
    return answer


async def _come_in(
    request: Request,
    box: Container,
    provider: Provider,
    token: str,
    code: str | None,
    error: str | None,
    iss: str | None,
) -> Response:
    """
    Raises:
        SaycartError, ProviderAway, ProviderBusy, NotBelieved: the sign-in is refused.
    """
    store, wanted = box.provider_sign_ins, _wanted(box)
    after = await run_in_threadpool(store.take, token)
    if after is None:
        raise NotBegunHere("This sign-in took too long or was already used")
    if not await provider.expects(iss):
        raise NotBelieved("the answer names another issuer")
    if error:
        raise _told_error(wanted.name, error)
    if not code:
        raise NotBelieved("the answer holds no code")
    visit = visit_of(request)
    counted = await run_in_threadpool(store.count, visit.address)
    try:
        told = await provider.told(token, own_address(request, CALLBACK), code)
    except (ProviderAway, ProviderBusy):
        await run_in_threadpool(store.give_back, counted)
        raise
    name, got = await run_in_threadpool(
        store.enter,
        Identity.told(told.claims, wanted.claim),
        visit,
        SESSION_S,
        id_token=told.id_token,
        counted=counted,
        by=partial(acting, request),
    )
    return await entered(request, box, got, name, safe_next(after))


def _provider(box: Container) -> Provider:
    if box.provider is None:
        raise NotFound("No sign-in provider is set up here", hint="Sign in with name and password.")
    return box.provider


def _wanted(box: Container) -> OidcProvider:
    if box.settings.oidc is None:
        raise NotFound("No sign-in provider is set up here", hint="Sign in with name and password.")
    return box.settings.oidc


def _told_error(name: str, error: str) -> SaycartError:
    if error == "access_denied":
        return NotLetIn(
            f"The sign-in at {name} was cancelled, or your account there can't use saycart",
            hint=f"Try again; if that doesn't help, ask your {name} administrator.",
        )
    if error in _PASSING:
        return Away(f"{name} can't sign anyone in right now")
    # Of the sender's making: it goes into no log as it is.
    log.warning("oidc.error_answer", error=error if error.isidentifier() and len(error) < 60 else "other")
    return NotLetIn(f"{name} didn't sign you in")


def _ours(box: Container, error: Exception) -> SaycartError:
    """The same in words for a person."""
    name = _wanted(box).name
    if isinstance(error, NotBelieved):
        log.warning("oidc.not_believed", reason=str(error))
        return NotLetIn(f"The answer from {name} couldn't be verified")
    if isinstance(error, ProviderAway):
        return Away(f"{name} is not responding")
    if isinstance(error, ProviderBusy):
        return SignInBusy()
    assert isinstance(error, SaycartError)
    return error


def _refused(request: Request, error: SaycartError) -> Response:
    if not isinstance(error, SignInBusy | TooManyAttempts):
        log.info("staff.provider_refused", code=error.code)
    return problem_page(request, error, PAGE)
