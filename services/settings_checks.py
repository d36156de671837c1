"""Checks of settings at startup, before anything depends on them."""

from __future__ import annotations

from infra.addresses import LOOPBACK
from infra.settings import Settings
from schemas.errors import InputError


def check_open(settings: Settings) -> None:
    """Raise InputError if anyone on the network could do everything."""
    if settings.open and settings.api_host not in LOOPBACK:
        raise InputError(
            f"SAYCART_OPEN lets anyone do anything, and the API listens on {settings.api_host}",
            hint="Remove it, or listen on 127.0.0.1.",
        )


def check_tasks(settings: Settings) -> None:
    """Load the configured masked tasks; raises as `registered`."""
    if settings.masked_tasks:
        from services.decoding.masked.registry import registered

        registered(settings.masked_tasks)
