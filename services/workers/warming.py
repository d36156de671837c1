"""Warms the decode server's prompt cache while a worker is idle.

A menu's part of the prompt takes a language model on a CPU half a minute, which later orders then skip. An
order interrupts the warming, which continues once the worker has been idle for a moment. Only the most
recently used menus are warmed, one at a time.

The worker accepts orders from the start. It reports that it is ready once these menus are warm, an order has
come, or after `READY_S`.
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
"""Longer than a short recording takes to transcribe: warming takes the transcription's cores."""
POLL_S, RETRY_S = 10.0, 60.0
"""How often to look for new menus, and how long to wait after a failure."""
READY_S = 90.0
"""How long the report that the worker is ready may be delayed."""


class Warming:
    """`menus` returns menus with their versions, the most used first; `warm` caches the prompt of one, and
    raises DecodeCancelled once its event is set. `ready` is called at most once, from any thread."""

    def __init__(
        self,
        menus: Callable[[], Iterable[tuple[Menu, int]]],
        warm: Callable[[Menu, threading.Event], None],
        ready: Callable[[], None] = lambda: None,
    ) -> None:
        self._menus = menus
        self._warm = warm
        self._ready = ready
        self._reported = False
        self._changed = threading.Condition()
        self._orders = 0
        self._idle_since = -math.inf
        self._called_off = threading.Event()
        self._stopped = threading.Event()

    def start(self) -> None:
        """Start warming in a thread."""
        timer = threading.Timer(READY_S, self._report_ready)
        timer.daemon = True
        timer.start()
        threading.Thread(target=self.run, name="warming", daemon=True).start()

    def stop(self) -> None:
        """Stop warming."""
        with self._changed:
            self._stopped.set()
            self._called_off.set()
            self._changed.notify()

    @contextmanager
    def order(self) -> Iterator[None]:
        """Pause warming while the block processes an order."""
        with self._changed:
            self._orders += 1
            self._called_off.set()
        self._report_ready()
        try:
            yield
        finally:
            with self._changed:
                self._orders -= 1
                self._idle_since = time.monotonic()
                self._changed.notify()

    def run(self) -> None:
        """Warm new menus until `stop`."""
        warm: set[str] = set()
        while not self._stopped.is_set():
            try:
                warm = self._warm_all(warm)
            except Exception:
                # Only speed depends on it.
                log.warning("menus.not_warmed", exc_info=True)
                self._report_ready()
                self._stopped.wait(RETRY_S)
            self._report_ready()
            self._stopped.wait(POLL_S)

    def _warm_all(self, warm: set[str]) -> set[str]:
        """Warm the menus whose prompts aren't in `warm`; return the prompts that are warm now."""
        self._wait_until_idle()
        # Prompts don't contain prices and availability, so the shops of a chain share one.
        menus = {menu_text(menu, Names(menu)): (menu, version) for menu, version in self._menus()}
        for prompt, (menu, version) in menus.items():
            while prompt not in warm and (called_off := self._wait_until_idle()):
                try:
                    self._warm(menu, called_off)
                except DecodeCancelled:
                    continue
                log.info("menu.warmed", menu=menu.id, version=version)
                warm.add(prompt)
        return warm & set(menus)

    def _report_ready(self) -> None:
        with self._changed:
            if self._reported or self._stopped.is_set():
                return
            self._reported = True
        self._ready()

    def _wait_until_idle(self) -> threading.Event | None:
        """Wait until there was no order for `IDLE_S`; return the event that the next one sets, None after
        `stop`."""
        with self._changed:
            while not self._stopped.is_set():
                if not self._orders and time.monotonic() >= self._idle_since + IDLE_S:
                    self._called_off = threading.Event()
                    return self._called_off
                self._changed.wait(None if self._orders else IDLE_S)
            return None
