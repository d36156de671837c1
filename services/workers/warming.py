"""Prompts are put into the decode server's cache while a worker has no order, and never in front of one.

A menu's part of the prompt takes a language model on a CPU half a minute; the orders after it skip that. It
is work for nobody yet, so it is called off when an order comes, and taken up again once the worker has been
without one for a moment. Only the menus that were ordered from last are warmed, one at a time: a shop with
five hundred menus has most of them for nothing.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

import structlog

from schemas.errors import DecodeCancelled
from schemas.menu import Menu

log = structlog.get_logger()

IDLE_S = 0.5
"""A worker that had no order for this long has none waiting: the next message comes within milliseconds."""


class Warming:
    """`menus` are each a menu and its version; `warm` puts the prompt of one into the cache, and raises
    DecodeCancelled once its event is set."""

    def __init__(
        self, menus: Sequence[tuple[Menu, int]], warm: Callable[[Menu, int, threading.Event], None]
    ) -> None:
        self._menus = list(menus)
        self._warm = warm
        self._changed = threading.Condition()
        self._in_hand = 0
        self._idle_since = time.monotonic()
        self._called_off = threading.Event()

    def start(self) -> None:
        """Begin, in a thread of its own."""
        threading.Thread(target=self.run, name="warming", daemon=True).start()

    @contextmanager
    def order(self) -> Iterator[None]:
        """An order is in hand for as long as the block runs; what is being warmed is called off."""
        with self._changed:
            self._in_hand += 1
            self._called_off.set()
        try:
            yield
        finally:
            with self._changed:
                self._in_hand -= 1
                self._idle_since = time.monotonic()
                self._changed.notify()

    def run(self) -> None:
        """Warm each menu in turn; ends when the server can't be asked, since only speed depends on it."""
        for menu, version in self._menus:
            while True:
                called_off = self._wait_idle()
                try:
                    self._warm(menu, version, called_off)
                except DecodeCancelled:
                    continue
                except Exception:
                    log.warning("menu.not_warmed", menu=menu.id, version=version, exc_info=True)
                    return
                log.info("menu.warmed", menu=menu.id, version=version)
                break

    def _wait_idle(self) -> threading.Event:
        """Wait until there was no order for `IDLE_S`; the event that the next one will set."""
        with self._changed:
            while self._in_hand or time.monotonic() < self._idle_since + IDLE_S:
                self._changed.wait(None if self._in_hand else IDLE_S)
            self._called_off = threading.Event()
            return self._called_off
