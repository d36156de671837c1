"""Resolve names under `.example` to an address of the test's choice."""

from __future__ import annotations

import socket
from typing import Any

import pytest

_REAL = socket.getaddrinfo


def leads_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Resolve every name under `.example` to `address`."""

    def lookup(host: Any, port: Any, *args: Any, **more: Any) -> list[Any]:
        ours = isinstance(host, str) and host.endswith(".example")
        return _REAL(address if ours else host, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", lookup)
