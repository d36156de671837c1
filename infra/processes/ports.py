"""Free loopback ports, remembered in `home` so that a restart uses the same addresses."""

from __future__ import annotations

import json
import socket
from pathlib import Path

BACKLOG = 2048


def free(port: int, host: str = "127.0.0.1") -> bool:
    """Return whether a server could listen on `port` now."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        # As servers do: else a port in TIME_WAIT would count as taken.
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((host, port))
        except OSError:
            return False
        return True


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


class PortBook:
    """`ports.json`: the port of each name."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def port(self, name: str) -> int:
        """Return the remembered port if it is free, else a new one, which is remembered."""
        book = self._read()
        port = book.get(name, 0)
        taken = {other for key, other in book.items() if key != name}
        while not port or port in taken or not free(port):
            port = any_free()
        if book.get(name) != port:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            self._path.write_text(json.dumps({**book, name: port}, indent=1))
        return port

    def _read(self) -> dict[str, int]:
        try:
            raw = json.loads(self._path.read_text())
            return {str(name): int(port) for name, port in raw.items()}
        except (OSError, ValueError, TypeError, AttributeError):
            return {}
