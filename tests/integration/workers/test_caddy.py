"""The documented proxy in front of a real API: Debian's Caddy with self-issued certificates, without
network."""

from __future__ import annotations

import os
import re
import shutil
import socket
import ssl
import subprocess
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
import pytest
from fastapi.routing import APIRoute

from infra.processes.ports import any_free
from infra.settings import REPOSITORY, Settings
from schemas.shops.access import Role
from services.api.app import create_app
from services.bootstrap import Container
from tests.integration.api_world import MENU, World, running
from tests.processes.parts import program
from tests.waiting import answers, until

CADDYFILE = REPOSITORY / "infra/caddy/Caddyfile"
NAME = "order.test"
PASSWORD = "correct horse battery"
ORDER = {"transcript": "a latte", "menu": MENU["id"]}

needs_caddy = pytest.mark.skipif(
    shutil.which("caddy") is None, reason="no caddy here (apt-get install caddy)"
)


@dataclass
class Front:
    """A running Caddy and the API behind it. `http` uses TLS and Caddy's host name."""

    world: World
    port: int
    plain_port: int
    context: ssl.SSLContext
    http: httpx.Client

    def line(self, name: str = NAME) -> ssl.SSLSocket:
        """Open a TLS connection for a name, with a timeout of 20 s."""
        plain = socket.create_connection(("127.0.0.1", self.port), 20)
        return self.context.wrap_socket(plain, server_hostname=name)

    def says(self, lines: str, body: str = "") -> bytes:
        """Send a raw request; return the whole response."""
        with self.line() as line:
            line.sendall(
                (lines.strip().replace("\n", "\r\n") + f"\r\nConnection: close\r\n\r\n{body}").encode()
            )
            return line.makefile("rb").read()


@contextmanager
def caddy(home: Path, world: World, port: int, **named: str) -> Iterator[Front]:
    """Run Caddy with the repository's Caddyfile and timeouts of one second."""
    file = home / "Caddyfile"
    file.write_text(re.sub(r"(read_header|read_body) \w+", r"\1 1s", CADDYFILE.read_text()))
    plain_port = any_free()
    environment = os.environ | {
        "SITE": NAME, "UPSTREAM": f"127.0.0.1:{world.port}", "GLOBAL": "local_certs\nskip_install_trust",
        "HTTPS_PORT": str(port), "HTTP_PORT": str(plain_port), "HOME": str(home),
        "XDG_DATA_HOME": str(home / "data"), "XDG_CONFIG_HOME": str(home / "config"), **named,
    }  # fmt: skip
    with (home / "caddy.log").open("wb") as log:
        command = ["caddy", "run", "--config", str(file), "--adapter", "caddyfile"]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        root = home / "data/caddy/pki/authorities/local/root.crt"
        until(lambda: process.poll() is not None or (root.exists() and root.stat().st_size), 30)
        context = ssl.create_default_context(cafile=str(root))
        with httpx.Client(
            base_url=f"https://{NAME}:{port}",
            headers=world.people["ada"],
            transport=_ByName(port, context),
            trust_env=False,
            timeout=20,
        ) as http:
            front = Front(world, port, plain_port, context, http)
            until(lambda: _answers(front), 30)
            yield front
    finally:
        process.terminate()
        process.wait(20)


class _ByName(httpx.HTTPTransport):
    """Connects to loopback whatever the host name, which is used for certificate checks and `Host`."""

    def __init__(self, port: int, context: ssl.SSLContext) -> None:
        super().__init__(verify=context)
        self._port = port

    def handle_request(self, request: httpx.Request) -> httpx.Response:
        request.extensions |= {"sni_hostname": request.url.host}
        request.url = request.url.copy_with(host="127.0.0.1", port=self._port)
        return super().handle_request(request)


def _answers(front: Front) -> bool:
    try:
        return front.http.get("/").is_success
    except httpx.TransportError:
        return False


@pytest.fixture(scope="module")
def front(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Front]:
    """Caddy set up as in docs/operations.md, with /v1 and staff pages open to all addresses."""
    port, home = any_free(), tmp_path_factory.mktemp("front")
    with (
        running(home / "api", public_url=f"https://{NAME}:{port}", proxies="127.0.0.1") as world,
        caddy(home, world, port) as found,
    ):
        world.parts.staff.add("Ann", PASSWORD, role=Role.ADMIN)
        yield found


@needs_caddy
def test_pages_and_the_api_are_served_over_https(front: Front) -> None:
    page = front.http.get("/")
    assert page.status_code == 200
    assert page.headers.get_list("strict-transport-security") == ["max-age=31536000"]
    assert front.http.get("/sign-in").status_code == 200
    made = front.http.post("/v1/orders", json=ORDER)
    assert made.status_code == 202
    with front.http.stream("GET", f"/v1/orders/{made.json()['id']}/events") as stream:
        assert "received" in next(stream.iter_text())


@needs_caddy
def test_a_form_of_our_page_and_the_secure_cookie(front: Front) -> None:
    form = {"name": "Ann", "password": PASSWORD}
    own = f"https://{NAME}:{front.port}"
    answer = front.http.post("/sign-in", data=form, headers={"Origin": own})
    assert answer.status_code == 303
    assert "; Secure" in answer.headers["set-cookie"]
    for other in ("https://evil.example", own.replace("https", "http"), "null"):
        assert front.http.post("/sign-in", data=form, headers={"Origin": other}).status_code == 403


@needs_caddy
@pytest.mark.parametrize(
    "path",
    [
        *("/metrics", "/metrics/database", "/readyz", "/livez", "/docs", "/openapi.json"),
        *("/.git/config", "/metrics/", "//metrics"),
    ],
)
def test_other_paths_are_not_found(front: Front, path: str) -> None:
    answer = front.says(f"GET {path} HTTP/1.1\nHost: {NAME}:{front.port}")
    assert answer.startswith(b"HTTP/1.1 404 ")
    assert b"saycart" not in answer
    for trick in (f"/static/..{path}", f"/orders/%2e%2e{path}", f"/static/%2e%2e%2f{path[1:]}"):
        answer = front.says(f"GET {trick} HTTP/1.1\nHost: {NAME}:{front.port}")
        assert b" 404 " in answer.splitlines()[0] or b" 400 " in answer.splitlines()[0]


@needs_caddy
def test_other_host_names_are_rejected(front: Front) -> None:
    assert front.says("GET / HTTP/1.1\nHost: evil.example").startswith(b"HTTP/1.1 421 ")
    with pytest.raises(ssl.SSLError):
        front.line("evil.example")
    with httpx.Client(base_url=f"http://127.0.0.1:{front.plain_port}", trust_env=False) as plain:
        sent = plain.get("/orders", headers={"Host": NAME})
        assert (sent.status_code, sent.headers["location"].split(":")[0]) == (308, "https")
        with pytest.raises(httpx.TransportError):
            plain.get("/", headers={"Host": "evil.example"})


@needs_caddy
def test_a_client_can_not_claim_another_address(front: Front) -> None:
    """A client's X-Forwarded-For is dropped: limits use the address that Caddy sees."""
    claims = {"X-Forwarded-For": "203.0.113.9", "X-Forwarded-Proto": "http", "Forwarded": "for=203.0.113.9"}
    made = front.http.post("/orders", data=ORDER, headers=claims | {"Sec-Fetch-Site": "same-origin"})
    assert made.status_code == 303
    assert made.headers["strict-transport-security"]
    clients = [client for _, client in front.world.parts.load.load().by_client]
    assert [client.split("/")[1] for client in clients if client.startswith("page")] == ["127.0.0.1"]


SENDS = {
    "heads": (b"GET / HTTP/1.1\r\n", b"X: a\r\n", 0.1),
    "bodies": (b"POST /orders HTTP/1.1\r\nHost: order.test\r\nContent-Length: 9000\r\n\r\n", b"a", 0.1),
    # The API's own parser would need 8 s for a million of them.
    "crumbs": (
        b"POST /orders HTTP/1.1\r\nHost: order.test\r\nTransfer-Encoding: chunked\r\n\r\n",
        b"1\r\n \r\n" * 9_900,
        0.0,
    ),
}


@needs_caddy
@pytest.mark.parametrize("slow", SENDS)
def test_slow_clients_are_disconnected_and_others_served(front: Front, slow: str) -> None:
    head, more, pause_s = SENDS[slow]

    def send(_: int) -> float:
        began = time.monotonic()
        with front.line() as line, suppress(OSError):
            line.sendall(head)
            while time.monotonic() - began < 15:
                line.sendall(more)
                time.sleep(pause_s)
        return time.monotonic() - began

    size = 4 if slow == "crumbs" else 40
    with ThreadPoolExecutor(size) as pool:
        crowd = [pool.submit(send, number) for number in range(size)]
        answers = [front.http.post("/v1/orders", json=ORDER) for _ in range(5)]
        assert {answer.status_code for answer in answers} == {202}
        assert max(answer.elapsed.total_seconds() for answer in answers) < 2
        assert max(one.result() for one in crowd) < 15


@needs_caddy
def test_large_headers_are_rejected(front: Front) -> None:
    asked = f"GET / HTTP/1.1\nHost: {NAME}:{front.port}\nX-Large: {'x' * 40_000}"
    assert front.says(asked).startswith(b"HTTP/1.1 431 ")


@needs_caddy
def test_api_and_staff_pages_can_be_restricted(front: Front, tmp_path: Path) -> None:
    with caddy(
        tmp_path, front.world, any_free(), API_FROM="10.0.0.0/8 fd00::/8", STAFF_FROM="10.1.2.3"
    ) as shut:
        assert shut.http.get("/").status_code == 200
        for path in ("/v1/orders", "/v1/menus", "/sign-in", "/review", "/menu"):
            assert shut.http.get(path).status_code == 404
        assert shut.http.post("/v1/orders", json=ORDER).status_code == 404


@needs_caddy
def test_one_of_two_apis_may_fail(front: Front, tmp_path: Path) -> None:
    """The second API runs on another machine with the same database, without queue and model."""
    other, log = any_free(), tmp_path / "api.log"
    machine = Settings(
        home=tmp_path / "two", api_port=other, database_url=front.world.parts.settings.database,
        migrate_at_start=False, redis_url="redis://127.0.0.1:1/0", public_url=f"https://{NAME}",
        proxies="127.0.0.1",
    )  # fmt: skip
    both = {"UPSTREAM": f"127.0.0.1:{front.world.port} 127.0.0.1:{other}", "APIS": "several"}

    def order(key: str) -> httpx.Response:
        return two.http.post("/v1/orders", json=ORDER, headers={"Idempotency-Key": key})

    def orders(of: str) -> None:
        for number in range(6):
            made = order(f"{of}-{number}")
            assert made.status_code == 202, made.text
            assert two.http.get(f"/v1/orders/{made.json()['id']}").status_code == 200

    def served() -> int:
        return log.read_text().count("path='/v1/orders")

    with program(machine, "-m", "services.api", log=log) as process:
        until(lambda: process.poll() is not None or answers(f"http://127.0.0.1:{other}/readyz"), 60)
        with caddy(tmp_path, front.world, any_free(), **both) as two:
            orders("both")
            assert served() >= 4, "each is given half"
            process.kill()
            process.wait(20)
            # Requests without a body are retried on the other at once; an order may have to be repeated.
            assert [two.http.get("/v1/orders").status_code for _ in range(6)] == [200] * 6
            until(lambda: all([order(f"seen-{number}").status_code == 202 for number in range(4)]), 10)
            orders("one")


def test_every_route_is_in_the_caddyfile(tmp_path: Path) -> None:
    """A new page is closed to everyone until the Caddyfile names it."""
    named = dict(re.findall(r"^\t@(\w+) path (.+)$", CADDYFILE.read_text(), re.MULTILINE))
    patterns = [pattern for line in named.values() for pattern in line.split()]

    def covered(path: str) -> bool:
        return any(path == p or (p.endswith("*") and path.startswith(p[:-1])) for p in patterns)

    box = Container(Settings(home=tmp_path))
    routers = [part.original_router for part in create_app(box).routes if hasattr(part, "original_router")]
    box.close()
    routes = {route.path for router in routers for route in router.routes if isinstance(route, APIRoute)}
    assert {"/orders/{order_id}", "/v1/orders", "/sign-in"} <= routes
    assert {path for path in routes if not covered(path)} == set()
    assert set(named) == {"customers", "staff", "api", "inside"}
