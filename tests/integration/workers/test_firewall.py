"""The documented firewall's limits, in a network namespace where this file runs as a program."""

from __future__ import annotations

import os
import shutil
import socket
import subprocess
import sys

import pytest

from infra.settings import REPOSITORY

PATH = os.environ["PATH"] + ":/usr/sbin:/sbin"
LOADED = 'ip link set lo up && nft -f "$1" && nft -f "$1" && exec "$2" "$3"'


@pytest.mark.skipif(
    os.geteuid() != 0 or not all(shutil.which(name, path=PATH) for name in ("nft", "ip")),
    reason="needs root, nft and ip (apt-get install nftables iproute2)",
)
def test_connections_per_address_are_limited() -> None:
    files = REPOSITORY / "infra/caddy/limits.nft", sys.executable, __file__
    done = subprocess.run(
        ["unshare", "-n", "sh", "-c", LOADED, "sh", *files],
        env=os.environ | {"PATH": PATH, "PYTHONPATH": str(REPOSITORY)},
        stderr=subprocess.PIPE,
        text=True,
        check=False,
    )
    if "unshare failed" in done.stderr:
        pytest.skip("no network namespace may be made here")
    assert done.returncode == 0, done.stderr


def _flood(family: socket.AddressFamily, server: str, *others: str) -> None:
    listener = socket.create_server((server, 443), family=family, backlog=4_096)

    def opened(address: str = server) -> tuple[socket.socket, socket.socket]:
        return socket.create_connection((server, 443), 1, (address, 0)), listener.accept()[0]

    held = [opened() for _ in range(100)]
    with pytest.raises(ConnectionRefusedError):
        opened()
    held += [opened(other) for other in others]
    for client, served in held:
        client.sendall(b"!")
        assert served.recv(1) == b"!", "live ones go on"
        client.close()
        served.close()
    with pytest.raises(TimeoutError):  # more than 50 a second
        [end.close() for _ in range(2_000) for end in opened()]


if __name__ == "__main__":
    _flood(socket.AF_INET, "127.0.0.1", "127.0.0.2")
    _flood(socket.AF_INET6, "::1")
