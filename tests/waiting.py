"""Waiting for what another thread or process does."""

from __future__ import annotations

import socket
import time
from collections.abc import Callable

import httpx


def until(
    happens: Callable[[], object],
    within_s: float = 20.0,
    told: Callable[[], object] = lambda: "it did not happen in time",
    every_s: float = 0.02,
) -> None:
    """Return as soon as `happens` is true, asked every so many seconds; it is asked once at least.

    Raises:
        AssertionError: it was not within the time; `told` says what is seen instead.
    """
    end = time.monotonic() + within_s
    while not happens():
        assert time.monotonic() < end, told()
        time.sleep(every_s)


def answers(url: str) -> bool:
    """Whether a server of this machine answers there, and well."""
    try:
        return httpx.get(url, trust_env=False).is_success
    except httpx.HTTPError:
        return False


def read_to_end(connection: socket.socket) -> bytes:
    """Return all that comes until the server closes; nothing where it closed without a word."""
    received = b""
    try:
        while piece := connection.recv(65_536):
            received += piece
    except ConnectionError:
        pass
    return received


def in_one_minute(seconds: float = 8.0) -> None:
    """Wait, if the minute ends in less than this: when it turns, a limit a minute has a little room again."""
    left_s = 60 - time.time() % 60
    if left_s < seconds:
        time.sleep(left_s + 0.01)
