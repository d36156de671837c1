"""Requests of many threads run on one event loop, and over connections that still stand."""

from __future__ import annotations

import asyncio
import time
from concurrent.futures import ThreadPoolExecutor

import pytest

from services.decoding import calls
from tests.servers.loopback import Handler, serving


def test_threads_that_come_together_first_share_one_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    made, new = [], asyncio.new_event_loop

    def slow() -> asyncio.AbstractEventLoop:
        time.sleep(0.05)
        made.append(new())
        return made[-1]

    monkeypatch.setattr(asyncio, "new_event_loop", slow)
    # A cache of its own: other tests' clients are bound to the loop that this process has.
    monkeypatch.setattr(calls, "_LOOPS", {})
    try:
        with ThreadPoolExecutor(8) as pool:
            found = list(pool.map(lambda _: calls._loop(), range(8)))
        assert len(made) == 1
        assert set(found) == set(made)
    finally:
        for loop in made:
            loop.call_soon_threadsafe(loop.stop)


def test_a_connection_that_was_idle_is_not_used_again() -> None:
    """Or a request may be under way just when the server closes it, and is lost without an answer."""
    ports: list[int] = []

    class Patient(Handler):
        protocol_version = "HTTP/1.1"  # which keeps connections

        def do_POST(self) -> None:
            self.body()
            ports.append(self.client_address[1])
            self.answer(200, b"{}")

    with serving(Patient) as url:
        client = calls.Calls(url, timeout_s=10.0)
        for wait in (0.0, 0.0, calls.IDLE_S + 0.5):
            time.sleep(wait)
            client.post("/", {})
    assert ports[0] == ports[1] != ports[2]
