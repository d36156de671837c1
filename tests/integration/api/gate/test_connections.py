"""Bodies on GET requests, and bodies that are not read.

The proxy handles slow clients and floods: `workers/test_caddy.py`.
"""

from __future__ import annotations

import re
import socket

import pytest

from infra.addresses import counted_as
from tests.integration import api_world
from tests.integration.api_world import World
from tests.waiting import read_to_end

world = api_world.world
HANGS_S = 15.0


def statuses(line: socket.socket) -> list[int]:
    """Return the status codes of all responses until the server closes the connection."""
    return [int(status) for status in re.findall(rb"HTTP/1\.1 (\d+)", read_to_end(line))]


@pytest.mark.parametrize("path", ["/v1/orders/ord_x/events", "/v1/orders/ord_x?wait=20", "/livez"])
@pytest.mark.parametrize(
    "framing", ["Content-Length: 10", "Transfer-Encoding: chunked", "Content-Length: 99999999999"]
)
def test_a_get_takes_no_body(world: World, path: str, framing: str) -> None:
    with socket.create_connection(("127.0.0.1", world.port), HANGS_S) as line:
        head = f"GET {path} HTTP/1.1\r\nHost: localhost\r\n".encode() + world.line()
        line.sendall(head + framing.encode() + b"\r\n\r\n")
        assert statuses(line) == [400]


def test_a_late_body_keeps_the_connection(world: World) -> None:
    with socket.create_connection(("127.0.0.1", world.port), HANGS_S) as line:
        line.sendall(
            b"POST /v1/nothing HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n"
            b"Content-Type: application/json\r\nContent-Length: 4\r\n\r\n"
        )
        assert line.recv(12) == b"HTTP/1.1 404"
        line.sendall(b"    GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert statuses(line) == [200]


@pytest.mark.parametrize(
    ("host", "key"),
    [
        ("10.0.0.1", "10.0.0.1"),
        ("::ffff:10.0.0.1", "10.0.0.1"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("testclient", "testclient"),
    ],
)
def test_limits_group_addresses(host: str, key: str) -> None:
    assert counted_as(host) == key
