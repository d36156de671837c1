"""The embedded model server's limits to strangers on its machine, without a model."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator

import pytest

from services.decoding.server.__main__ import Handler, Server
from tests.waiting import until

HEAD = b"POST /v1/chat/completions HTTP/1.1\r\nHost: a\r\nContent-Length: %d\r\n"
MOST_CONNECTIONS = 64
KEY = b"Authorization: Bearer right\r\n\r\n"


@pytest.fixture
def server() -> Iterator[Server]:
    serving = Server(("127.0.0.1", 0), None, "right")
    threading.Thread(target=serving.serve_forever, daemon=True).start()
    yield serving
    serving.shutdown()
    serving.server_close()


def connected(server: Server) -> socket.socket:
    return socket.create_connection(("127.0.0.1", server.server_port), timeout=5)


def answer(connection: socket.socket) -> bytes:
    """All that comes until the server closes; nothing where it closed without a word."""
    got = b""
    try:
        while piece := connection.recv(65_536):
            got += piece
    except ConnectionError:
        pass
    return got


def test_without_the_key_no_body_is_waited_for(server: Server) -> None:
    with connected(server) as stranger:
        stranger.sendall(HEAD % 3_000_000 + b"\r\n")
        assert b" 401 " in answer(stranger).splitlines()[0]


def test_who_sends_nothing_more_is_let_go(server: Server, monkeypatch: pytest.MonkeyPatch) -> None:
    assert Handler.timeout is not None
    monkeypatch.setattr(Handler, "timeout", 0.2)
    for sent in (b"", HEAD[:9], HEAD % 100 + KEY + b"{"):
        with connected(server) as slow:
            slow.sendall(sent)
            assert answer(slow) == b""


def test_connections_past_the_most_are_closed_and_cost_no_thread(server: Server) -> None:
    before = threading.active_count()
    held = [connected(server) for _ in range(MOST_CONNECTIONS)]
    until(lambda: threading.active_count() >= before + MOST_CONNECTIONS)
    for _ in range(20):
        with connected(server) as more:
            assert answer(more) == b""
    assert threading.active_count() <= before + MOST_CONNECTIONS
    held.pop().close()
    until(lambda: threading.active_count() < before + MOST_CONNECTIONS)
    with connected(server) as next_one:
        next_one.sendall(b"GET /health HTTP/1.1\r\nConnection: close\r\n\r\n")
        assert b" 200 " in answer(next_one)
    for one in held:
        one.close()
