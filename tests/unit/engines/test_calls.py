"""Requests of many threads run on one event loop, and over connections that still stand."""

from __future__ import annotations

import time

from services.decoding import calls
from tests.servers.loopback import Handler, serving


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
