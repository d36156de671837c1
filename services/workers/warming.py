"""Prompts are put into the decode server's cache while a worker has no order, and never in front of one.

A menu's part of the prompt takes a language model on a CPU half a minute; the orders after it skip that. It
is work for no order yet, so it is called off when an order comes, and taken up again once the worker has been
without one for a moment. Only the menus that were ordered from last are warmed, one at a time: a shop with
five hundred menus has most of them for nothing.

Orders are taken from the beginning. That a worker is ready is said once these menus are warm, an order has
come all the same, or `READY_S` went by: the first order should cost no more than the third, and no start
should hang on it. A start that finds them kept from before has all of them in moments.
"""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager

import structlog

from schemas.errors import DecodeCancelled
from schemas.menu import Menu
from services.decoding.menu_names import Names
from services.decoding.menu_text import menu_text

log = structlog.get_logger()

IDLE_S = 3.0
"""A worker that had no order for this long has none on its way either: a short recording is transcribed in
one or two seconds, and a prompt that is read meanwhile takes its cores."""
LOOK_S, AWAY_S = 10.0, 60.0
"""How often menus that came or changed are looked for, and how long after server or database failed."""
READY_S = 90.0
"""The most that being ready is put off: a menu of 1,400 tokens takes two cores some 25 s."""


class Warming:
    """`menus` gives menus with their versions, the most wanted first; `warm` puts the prompt of one into the
    cache, and raises DecodeCancelled once its event is set. `ready` is called once, unless it is stopped
    before: from `start`'s threads or that of an order."""

    def __init__(
        self,
        menus: Callable[[], Iterable[tuple[Menu, int]]],
        warm: Callable[[Menu, threading.Event], None],
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._menus = menus
        self._warm = warm
        self._ready = ready
        self._said = False
        self._changed = threading.Condition()
        self._in_hand = 0
        self._idle_since = -math.inf  # no order yet: begin at once
        self._called_off = threading.Event()
        self._over = threading.Event()

    def start(self) -> None:
        """Begin, in a thread of its own."""
        late = threading.Timer(READY_S, self._say_ready)
        late.daemon = True
        late.start()
        threading.Thread(target=self.run, name="warming", daemon=True).start()

    def stop(self) -> None:
        """End it; what is being warmed is called off."""
        with self._changed:
            self._over.set()
            self._called_off.set()
            self._changed.notify()

    @contextmanager
    def order(self) -> Iterator[None]:
        """An order is in hand for as long as the block runs; what is being warmed is called off."""
        with self._changed:
            self._in_hand += 1
            self._called_off.set()
        self._say_ready()
        try:
            yield
        finally:
            with self._changed:
                self._in_hand -= 1
                self._idle_since = time.monotonic()
                self._changed.notify()

    def run(self) -> None:
        """Warm what is not warm, again and again until `stop`."""
        warm: set[str] = set()
        while not self._over.is_set():
            try:
                warm = self._all(warm)
            except Exception:
                # Only speed depends on it: the server, the database.
                log.warning("menus.not_warmed", exc_info=True)
                self._say_ready()
                self._over.wait(AWAY_S)
            self._say_ready()
            self._over.wait(LOOK_S)

    def _all(self, warm: set[str]) -> set[str]:
        """Warm each menu whose text is not in `warm`, in turn; what is warm then, of the menus that are
        wanted."""
        self._idle()
        # Prices and what is sold out are in no prompt: shops of one chain have one together.
        found = {menu_text(menu, Names(menu)): (menu, version) for menu, version in self._menus()}
        for shown, (menu, version) in found.items():
            while shown not in warm and (called_off := self._idle()):
                try:
                    self._warm(menu, called_off)
                except DecodeCancelled:
                    continue
                log.info("menu.warmed", menu=menu.id, version=version)
                warm.add(shown)
        return warm & set(found)

    def _say_ready(self) -> None:
        with self._changed:
            if self._said or self._over.is_set():
                return
            self._said = True
        self._ready()

    def _idle(self) -> threading.Event | None:
        """Wait until there was no order for `IDLE_S`; the event that the next one sets. None at the end."""
        with self._changed:
            while not self._over.is_set():
                if not self._in_hand and time.monotonic() >= self._idle_since + IDLE_S:
                    self._called_off = threading.Event()
                    return self._called_off
                self._changed.wait(None if self._in_hand else IDLE_S)
            return None
