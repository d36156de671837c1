"""The page between one of our forms and the identity provider.

A form may only lead to this site (`form-action 'self'`), and Chromium applies that to redirects as well. So
the response to a form is a page that redirects by itself and also shows the link.
"""

from __future__ import annotations

from fastapi import Request
from starlette.responses import Response

from schemas.errors import ProviderAway
from services.api.deps import container, own_address
from services.bootstrap import Container
from services.web.pages import page, redirect
from services.web.staff.staff import COOKIE, drop_cookie


def provider_name(request: Request) -> str | None:
    """Return the provider's name, or None if none is configured."""
    provider = container(request).settings.oidc
    return provider.name if provider else None


def leave(request: Request, where: str, *, signing_out: bool = False) -> Response:
    """Return the page that sends the browser to the provider."""
    return page(
        request,
        "staff/leaving.html",
        where=where,
        provider=provider_name(request),
        signing_out=signing_out,
        staff=None,
    )


async def signed_out(request: Request, box: Container, id_token: str | None) -> Response:
    """Delete the session cookie; if the provider started the session, continue to its sign-out page, if
    any."""
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
