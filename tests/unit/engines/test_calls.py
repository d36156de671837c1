"""Requests of many threads run on one event loop, however they come."""

from __future__ import annotations

import asyncio
import os
import time
from concurrent.futures import ThreadPoolExecutor
from functools import lru_cache

import pytest

from services.engines.decoding import calls


def test_threads_that_come_together_first_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made, new = [], asyncio.new_event_loop

    def slow() -> asyncio.AbstractEventLoop:
        time.sleep(0.05)
        made.append(new())
        return made[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", slow)
    # A cache of its own: other tests' clients are bound to the loop that this process has.
    monkeypatch.setattr(calls, "_made_for", lru_cache(maxsize=1)(calls._made_for.__wrapped__))
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(calls._loop, [os.getpid()] * 8))
        assert len(made) == 1
        assert set(found) == set(made)
    finally:
        for loop in made:
            loop.call_soon_threadsafe(loop.stop)
