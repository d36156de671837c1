"""Clients that send slowly, read slowly, or come in crowds are ended; honest ones beside them are served.
Slow heads are the proxy's: `workers/test_caddy.py`.

Real sockets, with limits set low. A slow client that is not ended hangs its test until the timeout.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.addresses import counted_as
from schemas.lifecycle import Event
from services.api import __main__ as api
from services.api.gate import pace
from tests.integration.api_world import MENU, World, expect_problem, running, wav
from tests.waiting import until

HANGS_S = 15.0
CROWD = 40
KEY = b"X-Key: in its place\r\n"  # see `keyed`
HEAD = b"POST %s HTTP/1.1\r\nHost: localhost\r\nOrigin: http://localhost\r\n" + KEY + b"Content-Type: %s\r\n"
JSON, FORM, UPLOAD = (
    b"application/json",
    b"application/x-www-form-urlencoded",
    b"multipart/form-data; boundary=B",
)


@pytest.fixture(scope="module")
def strict(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An API with little patience."""
    home = tmp_path_factory.mktemp("strict")
    free = {"client_backlog": 0, "address_backlog": 0, "shop_backlog": 0}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pace, "START_S", 0.6)
        patch.setattr(pace, "RATE", 20_000)
        patch.setattr(pace, "MOST_S", 2.0)
        with running(home, **free) as world:
            yield world


def keyed(world: World, data: bytes) -> bytes:
    """With a key of this world: what is slow is refused for that alone."""
    return data.replace(KEY, world.line())


def connected(world: World, source: str = "127.0.0.1") -> socket.socket:
    return socket.create_connection(("127.0.0.1", world.port), HANGS_S, source_address=(source, 0))


def drip(line: socket.socket, data: bytes, each: int = 1, pause_s: float = 0.05) -> bytes:
    """Send bit by bit until all is sent or the server has had enough; what it answered until it closed."""
    done = threading.Event()

    def send() -> None:
        try:
            for at in range(0, len(data), each):
                line.sendall(data[at : at + each])
                if done.wait(pause_s):
                    return
        except OSError:
            pass

    sender = threading.Thread(target=send, daemon=True)
    sender.start()
    try:
        return heard(line)
    finally:
        done.set()
        sender.join()
        line.close()


def heard(line: socket.socket) -> bytes:
    """All until the end; a reset is an end too, a timeout is none."""
    got = b""
    try:
        while data := line.recv(65_536):
            got += data
    except ConnectionError:
        pass
    return got


def ask(line: socket.socket, data: bytes) -> bytes:
    """One whole answer, on a connection that may be kept."""
    line.sendall(data)
    got = b""
    while b"\r\n\r\n" not in got:
        more = line.recv(65_536)
        assert more, got
        got += more
    head, _, body = got.partition(b"\r\n\r\n")
    length = int(head.lower().partition(b"content-length: ")[2].partition(b"\r\n")[0])
    while len(body) < length:
        body += line.recv(65_536)
    return head + b"\r\n\r\n" + body


def status(answer: bytes) -> int:
    return int(answer.split(b" ", 2)[1]) if answer else 0


def problem(answer: bytes) -> Any:
    return json.loads(answer.partition(b"\r\n\r\n")[2])


@contextmanager
def honest(world: World) -> Iterator[None]:
    """Others order and look all the while, and are answered."""
    stop, seen, faults = threading.Event(), [0], list[str]()

    def go() -> None:
        while not stop.is_set():
            try:
                made = world.text()
                assert world.http.get(f"/v1/orders/{made['id']}").status_code == 200
                seen[0] += 1
            except Exception as error:  # told at the end, in the test's own thread
                faults.append(repr(error))
            stop.wait(0.02)

    thread = threading.Thread(target=go)
    thread.start()
    try:
        yield
        # However long that takes on a busy machine: to be served is what is asked, not how fast.
        until(lambda: seen[0] > 3 or faults)
    finally:
        stop.set()
        thread.join()
    assert not faults
    assert seen[0] > 3


RECORDING = (
    b'Content-Length: 900000\r\n\r\n--B\r\nContent-Disposition: form-data; name="audio"\r\n\r\n'
) + wav(1)
SLOW: dict[str, bytes] = {
    "json": HEAD % (b"/v1/orders", JSON) + b"Content-Length: 9000\r\n\r\n" + b"{" + b" " * 8000,
    "chunks": HEAD % (b"/v1/orders", JSON) + b"Transfer-Encoding: chunked\r\n\r\n" + b"1\r\n \r\n" * 900,
    "a page's form": HEAD % (b"/orders", FORM) + b"Content-Length: 9000\r\n\r\ntranscript=" + b"a" * 8000,
    "sign-in": HEAD % (b"/sign-in", FORM) + b"Content-Length: 9000\r\n\r\nname=" + b"a" * 8000,
    "an upload": HEAD % (b"/v1/orders", UPLOAD) + RECORDING,
    "an upload of a page": HEAD % (b"/orders", UPLOAD) + RECORDING,
}


@pytest.mark.parametrize("kind", SLOW)
def test_a_slow_crowd_is_ended_and_others_are_served(strict: World, kind: str) -> None:
    data = keyed(strict, SLOW[kind])
    at_once = data.partition(b"\r\n\r\n")[0] + b"\r\n\r\n"  # it is the body that dawdles
    kept = set(strict.recordings)

    def client(_: int) -> bytes:
        line = connected(strict)
        line.sendall(at_once)
        return drip(line, data[len(at_once) :])

    with honest(strict), ThreadPoolExecutor(CROWD) as pool:
        began = time.monotonic()
        answers = list(pool.map(client, range(CROWD)))
        assert time.monotonic() - began < HANGS_S
    assert {status(answer) for answer in answers} == {408}
    assert {problem(a)["code"] for a in answers if b"json" in a} <= {"upload_too_slow"}
    until(lambda: set(strict.recordings) == kept)


def test_a_body_at_a_fair_pace_has_more_time(strict: World) -> None:
    """Slower than `START_S` alone allows, but at twice the rate."""
    body = json.dumps(MENU).encode() + b" " * 50_000

    def steadily() -> Iterator[bytes]:
        for at in range(0, len(body), 4000):
            yield body[at : at + 4000]
            time.sleep(0.09)

    sent = {"Content-Type": "application/json", "Content-Length": str(len(body))}
    answer = strict.http.put(f"/v1/menus/{MENU['id']}", content=steadily(), headers=sent)
    assert answer.is_success, answer.text


def test_no_body_takes_longer_than_the_most(strict: World) -> None:
    """At whatever pace: here fast enough for its rate, and without an end."""
    with connected(strict) as line:
        head = (HEAD % (b"/v1/menus/corner", JSON)).replace(b"POST", b"PUT", 1)
        line.sendall(keyed(strict, head) + b"Content-Length: 990000\r\n\r\n")
        began = time.monotonic()
        answer = drip(line, b" " * 990_000, each=8_000, pause_s=0.1)
        assert status(answer) == 408
        assert 1.5 < time.monotonic() - began < 8


def test_a_get_takes_no_body(strict: World) -> None:
    order_id = strict.text()["id"]
    for path in (f"/v1/orders/{order_id}/events", f"/v1/orders/{order_id}?wait=20", "/livez"):
        for framing in (b"Content-Length: 10", b"Transfer-Encoding: chunked", b"Content-Length: 99999999999"):
            with connected(strict) as line:
                head = b"GET %s HTTP/1.1\r\nHost: localhost\r\n%s%s\r\n\r\n"
                line.sendall(head % (path.encode(), strict.line(), framing))
                assert status(heard(line)) == 400


def test_an_answered_body_that_does_come_keeps_the_connection(strict: World) -> None:
    with connected(strict) as line:
        assert status(ask(line, HEAD % (b"/v1/nothing", JSON) + b"Content-Length: 4\r\n\r\n")) == 404
        line.sendall(b"    GET /livez HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
        assert status(heard(line)) == 200


def test_an_answer_that_is_not_read_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(api, "UNREAD_S", 0.5)
    with running(tmp_path) as world:
        recording = wav(20)  # 640 kB, many times over: more than the kernel takes for us
        posted = world.http.post("/v1/orders", files={"audio": recording}).json()["id"]
        open_now = world.server.server_state.connections
        others = len(open_now)
        line = socket.socket()
        line.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        line.connect(("127.0.0.1", world.port))
        with line:
            whole = b"GET /v1/orders/%s/audio HTTP/1.1\r\nHost: localhost\r\n%s\r\n"
            line.sendall(whole % (posted.encode(), world.line()) * 12)
            until(lambda: len(open_now) > others)
            until(lambda: len(open_now) <= others, HANGS_S)


Follow = Callable[..., int]


@contextmanager
def following(world: World) -> Iterator[Follow]:
    """Open event streams that stay open; each call gives its status."""
    key = world.people["ada"]
    with ExitStack() as held:

        def follow(order_id: str, source: str = "127.0.0.1") -> int:
            http = held.enter_context(
                httpx.Client(
                    base_url=world.url, headers=key, transport=httpx.HTTPTransport(local_address=source)
                )
            )
            answer = http.send(http.build_request("GET", f"/v1/orders/{order_id}/events"), stream=True)
            held.callback(answer.close)
            if answer.status_code != 200:
                answer.read()
                expect_problem(answer, 429, "too_many_waiting")
                assert int(answer.headers["retry-after"]) > 0
            return answer.status_code

        yield follow


def seats(world: World) -> dict[Any, int]:
    return dict(world.server._app.state.seats._taken)


def test_streams_of_one_address_are_bounded(tmp_path: Path) -> None:
    with running(tmp_path, address_waits=3) as world:
        orders = [world.text()["id"] for _ in range(5)]
        with following(world) as follow:
            assert [follow(order_id) for order_id in orders] == [200, 200, 200, 429, 429]
            assert follow(orders[0], "127.0.0.2") == 200
            expect_problem(world.http.get(f"/v1/orders/{orders[0]}?wait=5"), 429, "too_many_waiting")
            assert world.http.get(f"/v1/orders/{orders[0]}").status_code == 200
        until(lambda: not seats(world))
        assert world.http.get(f"/v1/orders/{orders[0]}?wait=0.1").status_code == 200
        until(lambda: not seats(world))


def test_streams_of_all_are_bounded(tmp_path: Path) -> None:
    with running(tmp_path, max_waits=3) as world:
        one, other = world.text()["id"], world.text()["id"]
        with following(world) as follow:
            assert [follow(one, f"127.0.0.{n}") for n in (2, 3)] == [200, 200]
            assert [follow(other, f"127.0.0.{n}") for n in (4, 5)] == [200, 429]
        until(lambda: not seats(world))


def test_a_seat_is_free_when_its_order_ends(tmp_path: Path) -> None:
    with running(tmp_path, max_waits=1) as world:
        order_id = world.text()["id"]
        with following(world) as follow:
            assert follow(order_id) == 200
            assert follow(order_id, "127.0.0.2") == 429
            world.advance(order_id, Event.BROKE)
            until(lambda: not seats(world))
        assert world.http.get("/v1/orders/ord_none/events").status_code == 404
        assert not seats(world)


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
def test_whom_a_limit_counts_as_one(host: str, key: str) -> None:
    assert counted_as(host) == key
