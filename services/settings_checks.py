"""Checks of settings at startup, before anything depends on them."""

from __future__ import annotations

from infra.settings import Settings
from schemas.errors import InputError


def check_addresses(settings: Settings) -> None:
    """Raise InputError if a Redis URL in the settings is invalid."""
    urls = {"REDIS_URL": settings.redis_url, "SAYCART_LIMITS_URL": settings.limits_url}
    if not any(urls.values()):
        return
    from infra.redis.address import FORMS, checked

    for name, url in urls.items():
        try:
            if url:
                checked(url)
        except ValueError as error:
            raise InputError(f"{name} can't be used: {error}", hint=FORMS) from None


def check_tasks(settings: Settings) -> None:
    """Load the configured masked tasks; raises as `registered`."""
    if settings.masked_tasks:
        from services.decoding.tasks import registered

        registered(settings.masked_tasks)
