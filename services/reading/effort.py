"""The work budget of reading: counted steps, past which a reading is given up.

A menu may name "tea", "tea tea" and so on, and a transcript say "tea" a thousand times: then each name fits
at each place and is held against each other, and a worker is gone for minutes. So the loops whose length
words and menu multiply charge their steps here, before they take them. Steps and not seconds: the same words
over the same menu are read, or given up, on every machine and however busy it is (ADR 3).

A step is one to two microseconds of processor time, so a budget is a second or two.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar

from schemas.errors import TooMuchToRead

ORDER_STEPS = 1_000_000
"""For one transcript. The largest of 16,000 orders, told and generated, took 21,000; 2,000 characters of such
orders in one breath 193,000, and an ordinary order on a menu of 10,000 items 123,000."""
MENU_STEPS = 4_000_000
"""For the names of one menu version, apart from any transcript. Menus of shops take up to 14,000; of 10,000
items an ordinary one took 715,000, and one of awkward names 2,393,000."""


class Budget:
    """How many steps of `most` were `taken`."""

    __slots__ = ("most", "subject", "taken")

    def __init__(self, most: int, what: str) -> None:
        self.most, self.subject, self.taken = most, what, 0

    def take(self, steps: int) -> None:
        """Count `steps` that are about to be taken; raises TooMuchToRead where they are more than is left."""
        self.taken += steps
        if self.taken > self.most:
            raise TooMuchToRead(f"Reading {self.subject} takes more than {self.most} steps")


_BUDGET: ContextVar[Budget | None] = ContextVar("saycart_reading_budget", default=None)


@contextmanager
def budget(most: int, what: str) -> Iterator[Budget]:
    """All that is charged inside is counted together, and apart from what is counted around it."""
    mine = Budget(most, what)
    token = _BUDGET.set(mine)
    try:
        yield mine
    finally:
        _BUDGET.reset(token)


def charge(steps: int = 1) -> None:
    """Count steps against the budget around this call; without one they are free."""
    if (mine := _BUDGET.get()) is not None:
        mine.take(steps)
