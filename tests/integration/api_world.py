"""An API on a loopback port: real app, uvicorn, SQL and files; only the engines are stand-ins.

Test modules import the fixtures by name: `world, own_world = api_world.world, api_world.own_world`.
"""

from __future__ import annotations

import atexit
import shutil
import struct
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from infra.settings import Settings
from infra.sql.database import Database
from schemas.lifecycle import Event
from schemas.menu import Menu
from schemas.records.orders import OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.shops.access import MAIN_SHOP
from services.api.__main__ import Server, server
from services.api.app import create_app
from services.api.routes.links import capability
from services.bootstrap import Container
from services.storage.orders.store import OrderStore
from tests.credentials import UNLIMITED, header_for
from tests.stand_ins import TESTER, Bell
from tests.waiting import until

# structlog's default renders tracebacks with all locals, which takes seconds under load.
structlog.configure(
    processors=[
        structlog.contextvars.merge_contextvars,
        structlog.processors.format_exc_info,
        structlog.processors.KeyValueRenderer(key_order=["event"]),
    ],
    wrapper_class=structlog.make_filtering_bound_logger(30),
)

MENU: dict[str, Any] = {
    "id": "corner-cafe",
    "name": "Corner Cafe",
    "currency": "USD",
    "language": "en",
    "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
    "option_groups": [
        {"id": "milk", "name": "milk", "options": [{"id": "oat", "name": "oat milk", "price": 60}]}
    ],
    "items": [
        {"sku": "latte", "name": "latte", "prices": {"S": 450, "L": 550}, "option_groups": ["milk"]},
        {"sku": "bagel", "name": "bagel", "price": 399},
    ],
}


def wav(seconds: float = 0.2, rate: int = 16_000) -> bytes:
    """Silence as 16-bit mono PCM."""
    data = b"\0\0" * int(seconds * rate)
    head = b"WAVEfmt " + struct.pack("<IHHIIHH", 16, 1, 1, rate, rate * 2, 2, 16) + b"data"
    return b"RIFF" + struct.pack("<I", 36 + len(data)) + head + struct.pack("<I", len(data)) + data


class Parts(Container):
    """The real container with stand-ins for the broker and the decode server."""

    def __init__(self, settings: Settings) -> None:
        super().__init__(settings)
        # The only shop of these tests; the API uses the shop of the key.
        self.orders = OrderStore(self.database, MAIN_SHOP)
        self.menus = self.menus.of(MAIN_SHOP)
        self.bell = Bell()
        self.readiness = {"database": "ok", "queue": "ok", "decoder": "ok"}

    @property
    def doorbell(self) -> Bell:  # type: ignore[override]
        return self.bell

    def ready(self) -> dict[str, str]:
        return self.readiness


@dataclass
class World:
    """A running API and its parts. `http` sends Ada's key, which has all scopes."""

    parts: Any
    server: Server
    url: str
    http: httpx.Client
    people: dict[str, dict[str, str]] = field(default_factory=dict)

    def bearing(self, person: str) -> dict[str, str]:
        """Return the header of a key with all scopes, for a person with an account."""
        if person not in self.people:
            self.people[person] = header_for(self.parts.database, person=person)
        return self.people[person]

    @property
    def recordings(self) -> list[Path]:
        """Return all files in the blob folder, including temporary ones."""
        return [path for path in self.parts.settings.blobs.rglob("*") if path.is_file()]

    def browser(self, address: str = "127.0.0.1") -> httpx.Client:
        """Return a browser at this address, on a page of ours and without a key."""
        transport = httpx.HTTPTransport(local_address=address)
        headers = {"Origin": self.url}
        return httpx.Client(base_url=self.url, transport=transport, headers=headers, timeout=20)

    def line(self, person: str = "ada") -> bytes:
        """Return the key's header as a line of a raw request."""
        return f"Authorization: {self.bearing(person)['Authorization']}\r\n".encode()

    def link(self, order_id: str) -> str:
        """Return the path of the link to an order's page."""
        return f"/orders/{order_id}?c={capability(self.parts, MAIN_SHOP, order_id)}"

    @property
    def port(self) -> int:
        return int(self.url.rpartition(":")[2])

    def text(self, transcript: str = "a latte", **more: Any) -> dict[str, Any]:
        """Submit a transcript; return the order."""
        sent = {"transcript": transcript, "menu": MENU["id"], **more}
        answer = self.http.post("/v1/orders", json=sent, headers=self.bearing("ada"))
        assert answer.status_code == 202, answer.text
        found: dict[str, Any] = answer.json()
        return found

    def advance(self, order_id: str, event: Event, **columns: Any) -> OrderRecord:
        """Advance an order as a worker would."""
        return self.parts.orders.commit(self.parts.orders.get(order_id), Outcome(event, **columns))

    def doubted(self) -> tuple[str, str]:
        """Create an order in review; return its id and the review's."""
        order_id = self.text()["id"]
        self.advance(order_id, Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,))
        review = self.parts.reviews.by_order(order_id)
        assert review is not None
        return order_id, review.id


def expect_problem(answer: httpx.Response, status: int, code: str) -> dict[str, Any]:
    """Assert that a response is this problem, complete and without internals."""
    assert answer.status_code == status, answer.text
    assert answer.headers["content-type"] == "application/problem+json"
    found: dict[str, Any] = answer.json()
    assert found["type"] == f"/problems/{code}"
    assert found["code"] == code
    assert found["status"] == status
    assert found["title"]
    assert found["detail"]
    assert found["hint"]
    assert found["request_id"] == answer.headers["x-request-id"]
    assert "Traceback" not in answer.text
    assert "sqlalchemy" not in answer.text
    return found


@cache
def _migrated() -> Path:
    """A migrated SQLite file, created once per process: tables are most of the cost of an empty API."""
    folder = Path(tempfile.mkdtemp(prefix="saycart-migrated-"))
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    made = Database(Settings(home=folder).database)
    made.migrate()
    made.close()
    return folder / "saycart.db"


@contextmanager
def running(
    home: Path, database_url: str = "", container: type[Container] = Parts, **settings: Any
) -> Iterator[World]:
    """Run the API on a free loopback port, with only the limits that are passed."""
    wanted = Settings(home=home, database_url=database_url, api_port=0, **(UNLIMITED | settings))
    if not database_url and not (home / "saycart.db").exists():
        home.mkdir(parents=True, exist_ok=True)
        shutil.copy(_migrated(), home / "saycart.db")
    parts = container(wanted)
    parts.database.migrate()
    parts.menus.of(MAIN_SHOP).put(Menu.parse(MENU), by=TESTER)
    key = header_for(parts.database)
    app = create_app(parts)
    serving = server(app, wanted)
    thread = threading.Thread(target=serving.run, daemon=True)
    thread.start()
    try:
        until(lambda: serving.started)
        host, port = serving.servers[0].sockets[0].getsockname()[:2]
        url = f"http://{host}:{port}"
        # Like a browser on our page; test_origin.py has clients without these headers.
        with httpx.Client(base_url=url, timeout=40, headers=key | {"Origin": url}) as http:
            yield World(parts, serving, url, http, {"ada": key})
    finally:
        app.state.draining = True
        serving.should_exit = True
        thread.join(10)
        parts.close()
    assert not thread.is_alive(), "the server did not stop"


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[World]:
    """An API shared by a module's tests, which must not depend on each other."""
    with running(tmp_path_factory.mktemp("api"), max_audio_s=4) as shared:
        yield shared


@pytest.fixture
def lone_world(tmp_path: Path) -> Iterator[World]:
    """A separate API for one test, on SQLite."""
    with running(tmp_path, max_audio_s=4) as alone:
        yield alone


@pytest.fixture
def own_world(tmp_path: Path, database_url: str) -> Iterator[World]:
    """A separate API for one test, once on SQLite and once on PostgreSQL."""
    with running(tmp_path, database_url, max_audio_s=4) as alone:
        yield alone
