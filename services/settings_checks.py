"""Settings that no process can work with, found when it starts, before anything is made of them."""

from __future__ import annotations

from infra.addresses import LOOPBACK
from infra.settings import Settings
from schemas.errors import InputError


def check_open(settings: Settings) -> None:
    """Raises InputError where everyone who reaches this machine could do everything."""
    if settings.open and settings.api_host not in LOOPBACK:
        raise InputError(
            f"SAYCART_OPEN lets anyone do anything, and the API listens on {settings.api_host}",
            hint="Remove it, or listen on 127.0.0.1.",
        )


def check_tasks(settings: Settings) -> None:
    """Load the masked tasks of the setting, so that a fault shows at the start.

    Raises:
        InputError: as `registered`.
    """
    if settings.masked_tasks:
        from services.decoding.masked.registry import registered

        registered(settings.masked_tasks)
