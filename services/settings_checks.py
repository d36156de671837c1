"""Settings that no process can work with, found when it starts, before anything is made of them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infra.addresses import LOOPBACK
from infra.observability import tracing
from infra.settings import Settings
from schemas.errors import InputError
from schemas.shops.access import Role
from schemas.shops.staff import roles_named

if TYPE_CHECKING:
    from infra.oidc import Registration
    from infra.webhooks import Signer


def check_open(settings: Settings) -> None:
    """Raises InputError where everyone who reaches this machine could do everything."""
    if settings.open and settings.api_host not in LOOPBACK:
        raise InputError(
            f"SAYCART_OPEN lets anyone do anything, and the API listens on {settings.api_host}",
            hint="Remove it, or listen on 127.0.0.1.",
        )


def check_traces(settings: Settings) -> None:
    """Raises InputError where traces are asked for and can't be sent."""
    try:
        tracing.check(settings)
    except tracing.CannotTrace as error:
        raise InputError(str(error), hint=error.hint) from None


def check_tasks(settings: Settings) -> None:
    """Load the masked tasks of the setting, so that a fault shows at the start.

    Raises:
        InputError: as `registered`.
    """
    if settings.masked_tasks:
        from services.decoding.masked.registry import registered

        registered(settings.masked_tasks)


def tells_somebody(settings: Settings) -> bool:
    """Whether there may be something for a courier to do."""
    return bool(settings.webhook_url) or settings.webhook_endpoints != "off"


def check_provider(settings: Settings) -> dict[str, tuple[str, Role]]:
    """Shop and role by group of the provider, where one is set.

    Raises:
        InputError: the groups can't be read, or as `provider_registration`.
    """
    if provider_registration(settings) is None:
        return {}
    try:
        return roles_named(settings.oidc_roles)
    except ValueError as error:
        raise InputError(
            f"SAYCART_OIDC_ROLES: {error}", hint="Such as: baristas=main:reviewer, leads=main:manager"
        ) from None


def provider_registration(settings: Settings) -> Registration | None:
    """What saycart is to the provider of sign-ins; None when there is none.

    Raises:
        InputError: there is an issuer, and with it or the client id no one can sign in.
    """
    if (provider := settings.oidc) is None:
        return None
    from infra.oidc import Registration

    scopes = " ".join(dict.fromkeys(["openid", *provider.scope.split()]))
    try:
        return Registration(provider.issuer, provider.client_id, settings.oidc_client_secret, scopes)
    except ValueError as error:
        raise InputError(
            f"SAYCART_OIDC_URL is set, and {error}",
            hint="It is what the provider calls itself, and what it calls saycart: "
            "https://login.example/realms/cafe?client_id=saycart.",
        ) from None


def webhook_signer(settings: Settings) -> Signer | None:
    """What signs messages to the shop's system; None when none are sent.

    Raises:
        InputError: there is a URL, and it or the secret can't be used.
    """
    if not settings.webhook_url:
        return None
    from infra.webhooks import Signer

    if not settings.webhook_url.startswith(("https://", "http://")):
        raise InputError(
            "SAYCART_WEBHOOK_URL is not an http URL", hint="It must start with https:// or http://."
        )
    try:
        return Signer(settings.webhook_secret)
    except ValueError as error:
        raise InputError(
            f"SAYCART_WEBHOOK_URL is set and SAYCART_WEBHOOK_SECRET can't be used: {error}",
            hint='Make one with: echo "whsec_$(openssl rand -base64 32)", and give the receiver the same.',
        ) from None
