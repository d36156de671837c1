"""The API as a process: its socket outlives it."""

from __future__ import annotations

import errno
import os
import resource
import signal
import socket
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import httpx
import pytest

from infra.processes.ports import any_free, listen
from infra.processes.supervisor import Supervisor
from infra.settings import Settings
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.workers.children import api_part
from services.workers.stack import Stack
from tests.credentials import UNLIMITED, header_for
from tests.integration.api_world import MENU
from tests.processes.parts import program
from tests.stand_ins import TESTER
from tests.waiting import answers, until

TEXT = {"transcript": "a latte", "menu": MENU["id"]}


class Api:
    """A supervisor with only the API, without Redis."""

    def __init__(self, home: Path) -> None:
        self.settings = Settings(
            home=home,
            api_port=any_free(),
            redis_url="redis://127.0.0.1:1/0",
            client_backlog=0,
            shop_backlog=0,
            max_backlog=0,
            **UNLIMITED,
        )
        self.box = bootstrap(self.settings)
        self.box.database.migrate()
        self.box.menus.of("main").put(Menu.parse(MENU), by=TESTER)
        self.key = header_for(self.box.database)
        self.url = f"http://127.0.0.1:{self.settings.api_port}"
        self.listener = listen(self.settings.api_port, self.settings.api_host)
        self.supervisor = Supervisor(home)

    def __enter__(self) -> Api:
        self.supervisor.start([api_part(self.settings, self.listener)])
        return self

    def __exit__(self, *_: object) -> None:
        self.supervisor.stop()
        self.listener.close()
        self.box.close()

    @property
    def pid(self) -> int:
        pid = self.supervisor.pid("api")
        assert pid is not None
        return pid

    def count(self) -> int:
        return sum(self.box.orders.counts().values())


@pytest.fixture(scope="module")
def api(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Api]:
    with Api(tmp_path_factory.mktemp("rolling")) as running:
        yield running


def post(http: httpx.Client, key: str) -> httpx.Response:
    return http.post("/v1/orders", json=TEXT, headers={"Idempotency-Key": key})


def test_connections_wait_while_the_api_restarts(api: Api) -> None:
    """After kill -9, requests in flight may fail and are repeated under their key; later ones wait."""
    before = api.count()
    with httpx.Client(base_url=api.url, headers=api.key, timeout=30, trust_env=False) as http:
        assert post(http, "before-the-kill").status_code == 202
        os.kill(api.pid, signal.SIGKILL)
    with (
        ThreadPoolExecutor(5) as pool,
        httpx.Client(base_url=api.url, headers=api.key, timeout=30, trust_env=False) as http,
    ):
        answers = list(pool.map(lambda n: post(http, f"while-dead-{n % 3}"), range(5)))
        # A repeated key may arrive while the first request is in flight.
        assert {answer.status_code for answer in answers} <= {202, 409}
        repeats = [post(http, f"while-dead-{n}") for n in range(3)] + [post(http, "before-the-kill")]
        assert all(repeat.headers["idempotency-replayed"] == "true" for repeat in repeats)
    assert api.count() == before + 4


def test_more_clients_can_wait_than_the_initial_file_limit(tmp_path: Path) -> None:
    """The usual limit is 1,024 open files; this test sets a lower one, to need fewer clients."""
    api = Api(tmp_path)
    api.listener.close()
    key, url, port = api.key, api.url, api.settings.api_port
    shown = f"Authorization: {key['Authorization']}"
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    waiting: list[socket.socket] = []

    def few() -> None:
        resource.setrlimit(resource.RLIMIT_NOFILE, (100, hard))

    with program(api.settings, "-m", "services.api", preexec_fn=few) as process:
        until(lambda: answers(f"{url}/livez"), 30)
        order = httpx.post(f"{url}/v1/orders", json=TEXT, headers=key, trust_env=False).json()["id"]
        for _ in range(150):
            waiting.append(socket.create_connection(("127.0.0.1", port)))
            waiting[-1].sendall(
                f"GET /v1/orders/{order}?wait=30 HTTP/1.1\r\nHost: localhost\r\n{shown}\r\n\r\n".encode()
            )
        until(lambda: len(os.listdir(f"/proc/{process.pid}/fd")) > 150, 10)
        assert httpx.post(f"{url}/v1/orders", json=TEXT, headers=key, trust_env=False).status_code == 202
        for connection in waiting:
            connection.close()
        process.terminate()
        assert process.wait(30) == -signal.SIGTERM
    api.box.close()


def test_a_stopping_stack_refuses_connections(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Otherwise they would wait until workers have drained, and be cut off; a proxy can use another
    machine."""
    stack = Stack(Settings(home=tmp_path, api_port=any_free()))
    address = ("127.0.0.1", stack.settings.api_port)
    stack._listener = listen(address[1], address[0])
    socket.create_connection(address).close()
    seen: list[int] = []

    def ending() -> None:
        with socket.socket() as client:
            seen.append(client.connect_ex(address))

    monkeypatch.setattr(stack.supervisor, "stop", ending)
    stack.stop()
    assert seen == [errno.ECONNREFUSED]
