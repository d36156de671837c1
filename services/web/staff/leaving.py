"""The page between a form of ours and an address of the provider's.

A form may lead to this site alone (`form-action 'self'`), and Chromium holds that against each redirect after
it as well. So a form is answered with a page that goes on by itself, and shows the link to whose browser does
not; the policy stays as it is.
"""

from __future__ import annotations

from urllib.parse import urlsplit

from fastapi import Request
from starlette.responses import Response

from schemas.shops.sign_in_errors import ProviderAway
from services.api.deps import container
from services.bootstrap import Container
from services.web.pages import go, page
from services.web.staff.staff import COOKIE, drop_cookie


def provider_name(request: Request) -> str | None:
    """What the provider is called; None where there is none to sign in by."""
    provider = container(request).settings.oidc
    return provider.name if provider else None


def own_address(request: Request, path: str) -> str:
    """The address of a page of ours, as browsers know it."""
    public = urlsplit(container(request).settings.public_url)
    ours = public if public.netloc else request.url
    return f"{ours.scheme}://{ours.netloc}{path}"


def leave(request: Request, where: str, *, signing_out: bool = False) -> Response:
    """Send the browser to an address of the provider's."""
    return page(
        request,
        "staff/leaving.html",
        where=where,
        provider=provider_name(request),
        signing_out=signing_out,
        staff=None,
    )


async def signed_out(request: Request, box: Container, id_token: str | None) -> Response:
    """The browser without its session; where the provider's word had begun it, on to signing out there, if it
    has a place for that."""
    answer = go(request, "/sign-in")
    if id_token is not None and box.provider is not None:
        try:
            where = await box.provider.sign_out_address(id_token, own_address(request, "/sign-in"))
        except ProviderAway:
            where = None  # it is away, and the session here is over all the same
        if where:
            answer = leave(request, where, signing_out=True)
    drop_cookie(request, answer, COOKIE)
    return answer
