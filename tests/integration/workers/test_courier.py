"""The courier against real receivers, in process and as a child that is killed."""

from __future__ import annotations

import json
import signal
import socket
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from standardwebhooks.webhooks import Webhook

from infra.settings import REPOSITORY, Settings
from infra.sql.database import Database
from infra.webhooks import Poster, Signer, Target
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoint_ways import Ways
from services.storage.outbox.store import Message, Outbox
from services.workers.courier import Courier, Patience
from services.workers.lanes import EACH
from services.workers.stack import as_environment
from tests.integration.storage.test_outbox import ALL, completed, proposed_and_confirmed
from tests.servers.loopback import Handler, serving
from tests.servers.receiver import Inbox, Receiver
from tests.waiting import until

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SIGNER = Signer(SECRET)


class Staged:
    """A receiver that follows a script: one entry a request, the last one stays."""

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
                """A header that never ends: each byte resets the timeout of a blocking client."""
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
    return OrderStore(database, "main", ALL)


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


def make_due(database: Database) -> None:
    """Let waits be over, and the leases of the dead."""
    with database.write() as session:
        session.connection().exec_driver_sql(
            "UPDATE outbox SET next_attempt_at = NULL, lease_until = NULL, due_at = created_at"
        )


@contextmanager
def courier_to(url: str, outbox: Outbox, database: Database, attempts: int = 9) -> Iterator[Courier]:
    with Poster(connect_s=0.4, total_s=0.4) as poster:
        patience = Patience(attempts, 3600, 3600)
        yield Courier(outbox, poster.post, ways_to(url, database), patience, owner="courier-1")


def ways_to(url: str, database: Database) -> Ways:
    """Of a deployment with one URL."""
    return Ways(database, Target(url, SIGNER), "off")


def once(courier: Courier, outbox: Outbox, database: Database) -> Message:
    """Send what is due; the one message of the test as it is then."""
    make_due(database)
    for message in outbox.claim(owner="courier-1", limit=9, lease_s=60):
        courier.deliver(message)
    [left] = outbox.list(dead=False, limit=9) + outbox.list(dead=True, limit=9)
    return left


def test_every_failure_is_tried_again_under_one_id(
    orders: OrderStore, outbox: Outbox, database: Database
) -> None:
    completed(orders)
    script = {
        "500": "answered 500",
        "silent": "no answer in 0.4 s",
        "drop": "RemoteProtocolError",
        "busy": "answered 429: slow",
        "moved": "answered 302, and redirects are not followed",
        "drip": "no answer in 0.4 s",
        "endless": "answered 500: no no no",
    }
    with Staged(*script, "204") as receiver, courier_to(receiver.url, outbox, database) as courier:
        for tries, said in enumerate(script.values(), 1):
            left = once(courier, outbox, database)
            assert (left.last_error or "").startswith(said)
            assert (left.attempt, left.delivered_at, left.dead_at) == (tries, None, None)
            assert left.next_attempt_at is not None
        make_due(database)
        [message] = outbox.claim(owner="courier-1", limit=9, lease_s=60)
        courier.deliver(message)
    assert outbox.counts() == {"delivered": 1, "waiting": 0, "dead": 0}
    assert receiver.ids == [message.id] * 8
    assert set(receiver.paths) == {"/hook"}


def test_nobody_there_and_then_given_up_and_then_brought_back(
    orders: OrderStore, outbox: Outbox, database: Database
) -> None:
    completed(orders)
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        url = f"http://127.0.0.1:{closed.getsockname()[1]}/"
        with courier_to(url, outbox, database, attempts=2) as courier:
            first = once(courier, outbox, database)
            assert first.dead_at is None
            last = once(courier, outbox, database)
    assert last.dead_at is not None
    assert (last.last_error or "").startswith("ConnectError")
    assert outbox.counts() == {"delivered": 0, "waiting": 0, "dead": 1}
    outbox.replay()
    with Staged("200") as receiver, courier_to(receiver.url, outbox, database) as courier:
        [message] = outbox.claim(owner="courier-1", limit=9, lease_s=60)
        courier.deliver(message)
    assert receiver.ids == [last.id]
    assert outbox.counts()["delivered"] == 1


def test_a_gone_receiver_ends_it_at_once(orders: OrderStore, outbox: Outbox, database: Database) -> None:
    completed(orders)
    with Staged("410") as receiver, courier_to(receiver.url, outbox, database) as courier:
        assert once(courier, outbox, database).dead_at is not None


def test_told_to_stop_it_ends_what_it_posts_and_begins_nothing(
    orders: OrderStore, outbox: Outbox, database: Database
) -> None:
    for _ in range(EACH + 1):
        completed(orders)
    stop = threading.Event()
    with Staged("held") as receiver, Poster() as poster:
        ways = ways_to(receiver.url, database)
        courier = Courier(outbox, poster.post, ways, Patience(9, 1, 1), owner="courier-1")
        running = threading.Thread(target=courier.run, args=(stop.wait,))
        running.start()
        until(lambda: len(receiver.ids) == EACH)
        stop.set()
        receiver.over.set()
        running.join(20)
        assert not running.is_alive()
    assert outbox.counts() == {"delivered": EACH, "waiting": 1, "dead": 0}


def settings(home: Path, database_url: str, url: str) -> Settings:
    return Settings(home=home, database_url=database_url, webhook_url=url, webhook_secret=SECRET)


@contextmanager
def child(config: Settings) -> Iterator[subprocess.Popen[bytes]]:
    """A real courier that has said it is ready."""
    ready = config.home / "ready"
    ready.unlink(missing_ok=True)
    with (config.home / "courier.log").open("ab") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "services.workers.courier"],
            cwd=REPOSITORY,
            env={**as_environment(config), "PYTHONPATH": str(REPOSITORY), "SAYCART_READY_FILE": str(ready)},
            stdout=log,
            stderr=log,
        )
    try:
        until(lambda: ready.exists() or process.poll() is not None)
        assert process.poll() is None, (config.home / "courier.log").read_text()
        yield process
    finally:
        process.kill()
        process.wait()


def test_killed_between_receipt_and_note_it_repeats_and_the_receiver_drops_it(
    orders: OrderStore, outbox: Outbox, database: Database, database_url: str, tmp_path: Path
) -> None:
    order = completed(orders)
    out, kept, go_on = tmp_path / "taken.jsonl", threading.Event(), threading.Event()

    def hold() -> None:
        kept.set()
        go_on.wait(30)

    with Receiver(0, SECRET, Inbox(out, hold)) as receiver:
        config = settings(tmp_path, database_url, receiver.url)
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


def test_two_couriers_send_each_message_once_and_those_of_an_order_in_order(
    orders: OrderStore, outbox: Outbox, database_url: str, tmp_path: Path
) -> None:
    with Staged("204") as receiver:
        homes = [tmp_path / "a", tmp_path / "b"]
        for home in homes:
            home.mkdir()
        with (
            child(settings(homes[0], database_url, receiver.url)) as one,
            child(settings(homes[1], database_url, receiver.url)) as two,
        ):
            # While both look for work, so that they take turns.
            expected = {proposed_and_confirmed(orders).id for _ in range(30)}
            until(lambda: outbox.counts()["delivered"] == 60)
            for courier in (one, two):
                courier.send_signal(signal.SIGTERM)
                assert courier.wait(10) == 0
        ids = receiver.ids
    assert Counter(ids).most_common(1)[0][1] == 1
    place = {message_id: n for n, message_id in enumerate(ids)}
    outbox.replay(ids)
    rows = outbox.list(dead=False, limit=100)
    assert {message.order_id for message in rows} == expected
    by_order: dict[str, list[Message]] = {}
    for message in sorted(rows, key=lambda message: message.seq):
        by_order.setdefault(message.order_id, []).append(message)
    assert all(place[first.id] < place[second.id] for first, second in by_order.values())
