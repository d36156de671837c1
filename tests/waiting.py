"""Wait for other threads and processes."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import httpx


def until(
    condition: Callable[[], object],
    within_s: float = 20.0,
    detail: Callable[[], object] = lambda: "it did not happen in time",
    every_s: float = 0.02,
) -> None:
    """Poll until `condition()` is true; it is called at least once.

    Raises:
        AssertionError: the time is over; the message is `detail()`.
    """
    end = time.monotonic() + within_s
    while not condition():
        assert time.monotonic() < end, detail()
        time.sleep(every_s)


def answers(url: str) -> bool:
    """Return True if a local server answers this URL with success."""
    try:
        return httpx.get(url, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def read_to_end(connection: socket.socket) -> bytes:
    """Return everything received until the server closes the connection."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionError:
        pass
    return received


def in_one_minute(seconds: float = 8.0) -> None:
    """Wait for the next minute if this one ends within `seconds`: per-minute limits reset then."""
    left_s = 60 - time.time() % 60
    if left_s < seconds:
        time.sleep(left_s + 0.01)
