"""A menu that is new is read in pieces, and orders of menus that were read before are answered in the gaps.

To read a menu takes half a minute and more, and an order of another shop would wait for all of it. So a
request may say for how many seconds a new menu is read at once (`menu_s`); after these the order is handed
back, its worker takes the order that is next, and the reading goes on when its turn comes again.

One menu is read at a time, since what was read of a menu is kept aside for one alone: an order of a second
new menu is handed back at once, until the first is read or was left alone for `ABANDONED_S`.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Sequence

from schemas.errors import MenuBeingRead
from services.decoding.server.prefixes import Prefixes

ABANDONED_S = 60.0
AGAIN_S = 3.0
STEP = 32
"""Tokens of a menu that are read at once, which an order that comes meanwhile waits for: a third of the time
of 128, at a quarter more a token."""


class Gaps:
    """Which new menu is being read, and how long it may be read now. One answer is made at a time."""

    def __init__(self, prefixes: Prefixes, clock: Callable[[], float] = time.monotonic) -> None:
        self._prefixes, self._clock = prefixes, clock
        self._menu: tuple[int, ...] = ()
        self._went_on = -math.inf
        self._until = math.inf

    def begin(self, menu: Sequence[int], seconds: float) -> None:
        """Give this menu so many seconds from now; any number where `seconds` is 0.

        Raises:
            MenuBeingRead: it is new, and another new one is being read.
        """
        tokens, now = tuple(menu), self._clock()
        self._until = math.inf
        if not seconds or self._prefixes.knows(menu):
            return
        if self._menu not in ((), tokens) and now < self._went_on + ABANDONED_S:
            raise MenuBeingRead("Another new menu is being read", wait_s=AGAIN_S)
        self._menu, self._went_on, self._until = tokens, now, now + seconds

    def step(self, most: int) -> int:
        """Return how many tokens of the menu to read at once: few where other orders may come."""
        return most if self._until == math.inf else min(most, STEP)

    def check(self, left: int) -> None:
        """So many tokens of the menu are still to be read.

        Raises:
            MenuBeingRead: some are, and the time is over.
        """
        if self._until == math.inf:
            return
        self._menu, self._went_on = self._menu if left else (), self._clock()
        if left and self._went_on >= self._until:
            raise MenuBeingRead("A part of the menu was read", wait_s=0.0)
