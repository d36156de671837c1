"""Ports to listen on."""

from __future__ import annotations

import socket

BACKLOG = 2048


def listen(port: int, host: str) -> socket.socket:
    """Return a listening socket, to be passed to a child.

    Raises:
        OSError: the port is taken, or the address is not this machine's.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    # Connections wait in this queue while no child accepts (the kernel caps it at somaxconn).
    return socket.create_server((host, port), family=family, backlog=BACKLOG)


def any_free(host: str = "127.0.0.1") -> int:
    """Return a port that was free a moment ago."""
    with socket.socket() as probe:
        probe.bind((host, 0))
        return int(probe.getsockname()[1])
