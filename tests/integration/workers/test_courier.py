"""The courier with real receivers, in process and as a child that is killed: endpoints don't wait for each
other, and nothing goes to forbidden addresses (TLS: `test_courier_tls.py`)."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from infra.observability import tracing
from infra.settings import Settings
from infra.sql.database import Database
from infra.webhooks import Poster
from schemas.shops.access import EVERY_SHOP
from schemas.shops.webhook import Allowed
from services.storage.base.tables import OutboxRow
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.storage.shops.store import ShopStore
from services.workers.courier import Courier, RetryPolicy
from services.workers.in_flight import EACH
from tests.endpoints import SECRET, TILL, till
from tests.integration.storage.test_outbox import completed
from tests.processes.parts import program
from tests.servers.collector import collecting, traced
from tests.servers.leading import leads_to
from tests.servers.loopback import Handler, serving
from tests.servers.receiver import Inbox, receiving
from tests.stand_ins import TESTER
from tests.waiting import until


class Staged:
    """A receiver with a script of one entry per request; the last one repeats."""

    def __init__(self, *script: str) -> None:
        self.script = list(script)
        self.ids: list[str] = []
        self.paths: list[str] = []
        self.over = threading.Event()
        staged = self

        class Receiver(Handler):
            protocol_version = "HTTP/1.1"

            def do_POST(self) -> None:
                Webhook(SECRET).verify(self.body(), dict(self.headers))
                staged.ids.append(self.headers["webhook-id"])
                staged.paths.append(self.path)
                step = staged.script.pop(0) if len(staged.script) > 1 else staged.script[0]
                if step.isdigit():
                    self.answer(int(step))
                else:
                    getattr(self, f"_{step}")()

            def _silent(self) -> None:
                staged.over.wait(30)
                self.close_connection = True

            def _held(self) -> None:
                staged.over.wait(30)
                self.answer(204)

            def _drop(self) -> None:
                self.close_connection = True

            def _busy(self) -> None:
                self.answer(429, b"slow \x00 down", retry_after="7")

            def _moved(self) -> None:
                self.answer(302, location="/elsewhere")

            def _drip(self) -> None:
                """Send an endless header: each byte resets a blocking client's timeout."""
                self.wfile.write(b"HTTP/1.1 200 OK\r\nx: ")
                while not staged.over.wait(0.05):
                    self.wfile.write(b"x")

            def _endless(self) -> None:
                self.send_response(500)
                self.end_headers()
                self.close_connection = True
                while not staged.over.is_set():
                    self.wfile.write(b"no " * 10_000)

        self._serving = serving(Receiver)
        self.url = ""

    def __enter__(self) -> Staged:
        self.url = f"{self._serving.__enter__()}/hook"
        return self

    def __exit__(self, *_: object) -> None:
        self.over.set()
        self._serving.__exit__(None, None, None)


@pytest.fixture
def orders(database: Database) -> OrderStore:
    return OrderStore(database, "main")


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


def make_due(database: Database) -> None:
    """End all delays and leases."""
    with database.write() as session:
        session.connection().exec_driver_sql("UPDATE outbox SET due_at = created_at")


@contextmanager
def couriers(
    database: Database, *, allowed: Allowed = "private", total_s: float = 20, attempts: int = 9
) -> Iterator[Courier]:
    with Poster(connect_s=min(10, total_s), total_s=total_s) as poster:
        target = EndpointStore(database, EVERY_SHOP, allowed).target
        patience = RetryPolicy(attempts, 3600, 3600)
        yield Courier(Outbox(database), poster.post, target, patience)


@contextmanager
def going(courier: Courier) -> Iterator[threading.Event]:
    """Run a courier in a thread until the event is set or the block ends."""
    stop = threading.Event()
    thread = threading.Thread(target=courier.run, args=(stop.wait,))
    thread.start()
    try:
        yield stop
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive()


def claimed(outbox: Outbox, endpoint_id: str = TILL) -> list[OutboxRow]:
    return outbox.claim(limit=9, lease_s=60, endpoint_id=endpoint_id)


def once(courier: Courier, outbox: Outbox, database: Database) -> OutboxRow:
    """Send due messages; return the test's only message."""
    make_due(database)
    for message in claimed(outbox):
        courier.deliver(message)
    [left] = outbox.list(dead=False, limit=9) + outbox.list(dead=True, limit=9)
    return left


def test_failures_are_retried_under_one_id(orders: OrderStore, outbox: Outbox, database: Database) -> None:
    script = {
        "500": "answered 500",
        "silent": "no answer in 0.4 s",
        "drop": "RemoteProtocolError",
        "busy": "answered 429: slow",
        "moved": "answered 302, and redirects are not followed",
        "drip": "no answer in 0.4 s",
        "endless": "answered 500: no no no",
    }
    with Staged(*script, "204") as receiver, couriers(database, total_s=0.4) as courier:
        till(database, receiver.url)
        completed(orders)
        for tries, error in enumerate(script.values(), 1):
            left = once(courier, outbox, database)
            assert (left.last_error or "").startswith(error)
            assert (left.attempt, left.delivered_at, left.dead_at) == (tries, None, None)
            assert left.due_at is not None
        make_due(database)
        [message] = claimed(outbox)
        courier.deliver(message)
    assert outbox.counts() == {"delivered": 1, "waiting": 0, "dead": 0}
    assert receiver.ids == [message.id] * 8
    assert set(receiver.paths) == {"/hook"}


def test_an_undeliverable_message_is_given_up(orders: OrderStore, outbox: Outbox, database: Database) -> None:
    with socket.socket() as closed, couriers(database, attempts=2) as courier:
        closed.bind(("127.0.0.1", 0))
        till(database, f"http://127.0.0.1:{closed.getsockname()[1]}/")
        completed(orders)
        assert once(courier, outbox, database).dead_at is None
        last = once(courier, outbox, database)
    assert last.dead_at is not None
    assert (last.last_error or "").startswith("ConnectError")
    assert outbox.counts() == {"delivered": 0, "waiting": 0, "dead": 1}


def test_a_stopped_courier_finishes_its_requests(
    orders: OrderStore, outbox: Outbox, database: Database
) -> None:
    with Staged("held") as receiver, couriers(database) as courier:
        till(database, receiver.url)
        for _ in range(EACH + 1):
            completed(orders)
        with going(courier) as stop:
            until(lambda: len(receiver.ids) == EACH)
            stop.set()
            receiver.over.set()
    assert outbox.counts() == {"delivered": EACH, "waiting": 1, "dead": 0}


def test_dead_endpoints_delay_no_other_shop(orders: OrderStore, database: Database) -> None:
    ShopStore(database).add("harbor-1", "Harbor", by=TESTER)
    with Staged("held") as dead, Staged("204") as well, couriers(database) as courier:
        for number in range(3):
            till(database, dead.url, key=f"whk_dead{number}")
        till(database, well.url, shop="harbor-1")
        for _ in range(9):
            completed(orders)
            completed(OrderStore(database, "harbor-1"))
        with going(courier):
            # The dead messages were tried too, and have their response.
            until(lambda: len(well.ids) == 9 and len(dead.ids) > 1)
            dead.over.set()
    assert len(set(well.ids)) == 9


def test_messages_for_a_removed_endpoint_are_not_sent(
    orders: OrderStore, outbox: Outbox, database: Database
) -> None:
    with Staged("204") as receiver, couriers(database) as courier:
        till(database, receiver.url)
        completed(orders)
        [message] = claimed(outbox)
        EndpointStore(database, "main").remove(TILL, by=TESTER)
        courier.deliver(message)
    assert receiver.ids == []
    assert outbox.counts() == {"delivered": 0, "waiting": 0, "dead": 0}


def test_a_message_continues_the_orders_trace(orders: OrderStore, outbox: Outbox, database: Database) -> None:
    with collecting() as collector, traced(collector), Staged("204") as receiver:
        till(database, receiver.url)
        with tracing.span("accept", kind="server"):
            accepted = tracing.current_traceparent()
        order = completed(orders)
        target = EndpointStore(database, EVERY_SHOP, "private").target
        with Poster() as poster:
            trace_of = {order.id: accepted}.get
            courier = Courier(outbox, poster.post, target, RetryPolicy(1, 1, 1), trace_of=trace_of)
            [message] = claimed(outbox)
            courier.deliver(message)
    accept, tell, post = (collector.one(name) for name in ("accept", "tell shop", "POST"))
    assert (tell.parent, post.parent) == (accept.id, tell.id)
    assert post.attributes["http.response.status_code"] == 204


def test_dns_rebinding_is_refused(
    orders: OrderStore, outbox: Outbox, database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It resolved elsewhere when the endpoint was created (DNS rebinding)."""
    with Staged("204") as receiver, couriers(database, allowed="public") as courier:
        leads_to(monkeypatch, "8.8.8.8")
        url = f"https://a.example:{receiver.url.rpartition(':')[2]}"
        one, _ = EndpointStore(database, "main", "public").add("main", url, by=TESTER)
        completed(orders)
        [message] = claimed(outbox, one.id)
        leads_to(monkeypatch, "127.0.0.1")
        courier.deliver(message)
    [left] = outbox.list(limit=9)
    assert left.last_error == "not sent: it leads into a private network or to this machine"
    assert receiver.ids == []


@contextmanager
def child(config: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A real courier that is ready."""
    ready = config.home / "ready"
    ready.unlink(missing_ok=True)
    log, env = config.home / "courier.log", {"SAYCART_READY_FILE": str(ready)}
    with program(config, "-m", "services.workers.courier", log=log, env=env) as process:
        until(lambda: ready.exists() or process.poll() is not None)
        assert process.poll() is None, log.read_text()
        yield process


def test_a_killed_courier_repeats_and_the_receiver_deduplicates(
    orders: OrderStore, outbox: Outbox, database: Database, database_url: str, tmp_path: Path
) -> None:
    out, kept, go_on = tmp_path / "taken.jsonl", threading.Event(), threading.Event()

    def hold() -> None:
        kept.set()
        go_on.wait(30)

    with receiving(0, SECRET, Inbox(out, hold)) as url:
        till(database, url)
        order = completed(orders)
        config = Settings(home=tmp_path, database_url=database_url, webhook_endpoints="private")
        with child(config) as courier:
            assert kept.wait(20), "it is on the receiver's disk, and not yet answered"
            courier.send_signal(signal.SIGKILL)
            courier.wait()
        go_on.set()
        [message] = outbox.list(dead=False, limit=9)
        assert message.attempt == 1
        make_due(database)
        with child(config) as courier:
            until(lambda: outbox.counts()["delivered"])
            courier.send_signal(signal.SIGTERM)
            assert courier.wait(10) == 0
    taken = [json.loads(line) for line in out.read_text().splitlines()]
    assert [(one["id"], one["data"]["order_id"]) for one in taken] == [(message.id, order.id)]
    with database.read() as session:
        rows = session.connection().exec_driver_sql("SELECT attempt FROM outbox").all()
    assert rows == [(2,)], "it was sent twice"
