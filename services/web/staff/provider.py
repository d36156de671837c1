"""Sign-in through the identity provider (OpenID Connect, ADR 60): the redirect there, and the callback.

Meanwhile the browser holds a random secret in a cookie, which is sent on a link from another site
(SameSite=Lax) and, over https, can't be set by another host (`__Host-`). State, nonce and PKCE's verifier
derive from it, so a response is valid only in the browser that asked; the provider redeems a code once.
"""

from __future__ import annotations

import secrets
from functools import partial
from typing import TYPE_CHECKING, Annotated

import structlog
from fastapi import APIRouter, Depends, Query, Request
from starlette.concurrency import run_in_threadpool
from starlette.responses import Response

from schemas.errors import NotBegunHere, NotFound, NotLetIn, ProviderAway, SaycartError
from services.api.deps import Wired, address, own_address
from services.api.gate.access import actor_of
from services.api.gate.rates import count_address
from services.bootstrap import Container
from services.web.pages import Fields, PageRoute, problem_page
from services.web.staff.sign_in import entered, leave, provider_name
from services.web.staff.staff import SESSION_S, drop_cookie, host_name, read_cookie, safe_next, set_cookie

if TYPE_CHECKING:
    from infra.oidc import Provider

log = structlog.get_logger(__name__)

router = APIRouter(prefix="/sign-in/oidc", include_in_schema=False, route_class=PageRoute)

OPEN = [Depends(count_address)]
FLOW_COOKIE = "saycart_oidc"
# Time to sign in at the provider, perhaps with a code or a password change.
FLOW_S = 600
CALLBACK = "/sign-in/oidc/callback"
# Longer than any provider's parameter.
Parameter = Annotated[str | None, Query(max_length=4096)]
# Errors of an authorization endpoint (RFC 6749, 4.1.2.1) that are worth another try.
_TEMPORARY = frozenset({"server_error", "temporarily_unavailable"})


@router.post("", dependencies=OPEN)
async def begin(request: Request, box: Wired, fields: Fields) -> Response:
    """Redirect to the provider. The middleware has refused other sites' forms already."""
    provider, token, after = _provider(box), secrets.token_urlsafe(32), safe_next(fields.get("next"))
    try:
        where = await provider.address(token, own_address(request, CALLBACK))
    except ProviderAway as error:
        return _refused(request, error)
    answer = leave(request, where)
    set_cookie(request, answer, host_name(request, FLOW_COOKIE), f"{token}.{after}", FLOW_S)
    return answer


@router.get("/callback", dependencies=OPEN)
async def back(
    request: Request,
    box: Wired,
    state: Parameter = None,
    code: Parameter = None,
    error: Parameter = None,
    iss: Parameter = None,
) -> Response:
    """Handle the provider's response; an error ends in a page, never in a session."""
    provider = _provider(box)
    token, _, after = read_cookie(request, FLOW_COOKIE).partition(".")
    if not token or not provider.began(token, state or ""):
        # The cookie stays: anyone can send a browser to this URL.
        return _refused(request, NotBegunHere("This sign-in wasn't started in this browser"))
    try:
        if error or not code:
            raise _error(provider_name(request) or "", error or "no code")
        answer = await _sign_in(request, box, provider, token, code, iss, safe_next(after))
    except SaycartError as refused:
        answer = _refused(request, refused)
    drop_cookie(request, answer, FLOW_COOKIE)
    return answer


async def _sign_in(
    request: Request, box: Container, provider: Provider, token: str, code: str, iss: str | None, after: str
) -> Response:
    store = box.provider_accounts
    counted = await run_in_threadpool(store.count, address(request))
    try:
        who = await provider.identify(token, own_address(request, CALLBACK), code, iss)
    except ProviderAway:
        await run_in_threadpool(store.give_back, counted)
        raise
    name, got = await run_in_threadpool(
        store.enter, who, SESSION_S, counted=counted, by=partial(actor_of, request)
    )
    return await entered(request, box, got, name, after)


def _provider(box: Container) -> Provider:
    if box.provider is None:
        raise NotFound("No sign-in provider is set up here", hint="Sign in with name and password.")
    return box.provider


def _error(name: str, error: str) -> SaycartError:
    """Return the error for a response without a code, as a message for the person."""
    if error == "access_denied":
        return NotLetIn(
            f"The sign-in at {name} was cancelled, or your account there can't use saycart",
            hint=f"Try again; if that doesn't help, ask your {name} administrator.",
        )
    if error in _TEMPORARY:
        return ProviderAway(f"{name} can't sign anyone in right now")
    # The sender's text: never logged as it is.
    log.warning("oidc.error_answer", error=error if error.isidentifier() and len(error) < 60 else "other")
    return NotLetIn(f"{name} didn't sign you in")


def _refused(request: Request, error: SaycartError) -> Response:
    log.info("staff.provider_refused", code=error.code)
    return problem_page(request, error, "staff/not_signed_in.html")
