"""Names of `.example` that lead to an address of the test's choice."""

from __future__ import annotations

import socket
from typing import Any

import pytest

_REAL = socket.getaddrinfo


def leads_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    """Let each look-up of a name under `.example` find `address`."""

    def found(host: Any, port: Any, *args: Any, **more: Any) -> list[Any]:
        named = isinstance(host, str) and host.endswith(".example")
        return _REAL(address if named else host, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found)
