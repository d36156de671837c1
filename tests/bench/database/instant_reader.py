"""The product's Celery worker with a reader that takes no time, so that what is left is what an order costs
beside its engines: `celery -A tests.bench.database.instant_reader`."""

from __future__ import annotations

import threading

from schemas.menu import Menu
from services.bootstrap import Container
from services.decoding.ports import CartRequest, Reading
from services.workers.app import app
from tests.stand_ins import RIGHT, read_as

__all__ = ["app"]


class Instant:
    """`CartDecoder` that always comes to the cart of `tests.stand_ins.SAID`."""

    def decode(self, asked: CartRequest, called_off: threading.Event | None = None, **_how: bool) -> Reading:
        return read_as(RIGHT, "instant")

    def warm(self, menu: Menu, called_off: threading.Event | None = None) -> None:
        """Do nothing."""

    def prove(self) -> None:
        """It needs no mask."""


Container.decoder = property(lambda _: Instant())  # type: ignore[assignment, misc]
