"""The embedded engine's limits on clients, and what it makes of its own faults."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from typing import Any

import pytest
from starlette.testclient import TestClient

from services.decoding.server import http
from services.decoding.server.http import MAX_BODY_BYTES, MAX_CONNECTIONS, application
from tests.waiting import read_to_end, until

CHAT = "/v1/chat/completions"
KEY = {"Authorization": "Bearer right"}
HEAD = f"POST {CHAT} HTTP/1.1\r\nHost: a\r\nContent-Length: 3000000\r\n".encode()
WITH_KEY = HEAD + b"Authorization: Bearer right\r\n\r\n"
HEALTH = b"GET /health HTTP/1.1\r\nHost: a\r\n\r\n"


class Broken:
    """A reader that fails."""

    def complete(self, *_: Any) -> None:
        raise RuntimeError("a latte for Abernathy")


@pytest.fixture
def client() -> TestClient:
    return TestClient(application(Broken(), "right"), raise_server_exceptions=False)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("headers", "status"),
    [({"Content-Length": str(MAX_BODY_BYTES + 1)}, 413), ({"Transfer-Encoding": "chunked"}, 413)],
)
def test_a_body_past_the_most_is_refused_unread(client: TestClient, headers: Any, status: int) -> None:
    assert client.post(CHAT, headers=KEY | headers, content=iter([b"{}"])).status_code == status


def test_a_fault_names_no_words(client: TestClient) -> None:
    answer = client.post(CHAT, headers=KEY, json={"messages": [{"role": "user", "content": "hello"}]})
    assert answer.status_code == 500
    assert "Abernathy" not in answer.text


@pytest.fixture
def port(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    monkeypatch.setattr(http, "IDLE_S", getattr(request, "param", http.IDLE_S))
    server = http.server(Broken(), "right")  # type: ignore[arg-type]
    with socket.create_server(("127.0.0.1", 0), backlog=128) as listener:
        thread = threading.Thread(target=server.run, kwargs={"sockets": [listener]})
        thread.start()
        yield listener.getsockname()[1]
        server.should_exit = True
        thread.join()


def connected(port: int, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), timeout=5)
    connection.sendall(sent)
    return connection


@pytest.mark.parametrize("port", [0.2], indirect=True)
@pytest.mark.parametrize(
    ("sent", "answered"),
    [
        (b"", b""),
        (HEAD[:9], b""),
        (HEALTH + HEAD[:9], b"HTTP/1.1 200 OK"),
        (WITH_KEY + b"{", b"HTTP/1.1 408 Request Timeout"),
    ],
)
def test_who_sends_nothing_more_is_let_go(port: int, sent: bytes, answered: bytes) -> None:
    with connected(port, sent) as slow:
        assert read_to_end(slow).partition(b"\r\n")[0] == answered


def test_without_the_key_no_body_is_waited_for(port: int) -> None:
    with connected(port, HEAD + b"\r\n") as stranger:
        assert b" 401 " in read_to_end(stranger).splitlines()[0]


def test_connections_past_the_most_are_closed_unread(port: int) -> None:
    held = [connected(port) for _ in range(MAX_CONNECTIONS)]
    for _ in range(20):
        with connected(port) as more:
            assert read_to_end(more) == b""
    held[0].sendall(HEALTH)
    assert b" 200 " in held[0].recv(65_536)
    held.pop().close()

    def served() -> bool:
        with connected(port, HEALTH.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n")) as next_one:
            return b" 200 " in read_to_end(next_one)

    until(served)
    for one in held:
        one.close()
