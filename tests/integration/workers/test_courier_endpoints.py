"""The courier and endpoints of shops, with real receivers: nobody waits for another's, and nothing goes
where it must not."""

from __future__ import annotations

import signal
import socket
import ssl
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime, timedelta
from http.server import ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID
from sqlalchemy import update

from infra.settings import Settings
from infra.sql.database import Database
from infra.webhooks import Poster, Target
from schemas.shops.endpoint import Allowed, Endpoint
from schemas.shops.webhook import TO_ENDPOINTS
from services.storage.base.tables_webhooks import WebhookEndpointRow
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoint_ways import Ways
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.storage.shops.store import ShopStore
from services.workers.courier import Courier, Patience
from tests.integration.storage.test_outbox import ALL, completed, proposed_and_confirmed
from tests.integration.workers.test_courier import SECRET, SIGNER, Staged, child
from tests.servers.loopback import Handler
from tests.stand_ins import TESTER
from tests.waiting import until

TELLS = ALL | {TO_ENDPOINTS}


def endpoint(database: Database, url: str, shop: str = "main") -> str:
    """One of a shop's, whose secret the staged receivers know."""
    made, _ = EndpointStore(database, shop, "private").add(shop, url, by=TESTER)
    with database.write() as session:
        mine = update(WebhookEndpointRow).where(WebhookEndpointRow.id == made.id)
        session.execute(mine.values(secret=SECRET))
    return made.id


@contextmanager
def couriers(database: Database, *, allowed: Allowed = "private", total_s: float = 20) -> Iterator[Courier]:
    with Poster(connect_s=10, total_s=total_s) as poster:
        ways, patience = Ways(database, None, allowed), Patience(9, 3600, 3600)
        yield Courier(Outbox(database), poster.post, ways, patience, owner="courier-1")


@contextmanager
def going(courier: Courier) -> Iterator[None]:
    stop = threading.Event()
    thread = threading.Thread(target=courier.run, args=(stop.wait,))
    thread.start()
    try:
        yield
    finally:
        stop.set()
        thread.join(30)
    assert not thread.is_alive()


def test_the_dead_of_one_shop_hold_up_no_other_shop(database: Database) -> None:
    ShopStore(database).add("harbor-1", "Harbor", by=TESTER)
    with Staged("held") as dead, Staged("204") as well, couriers(database) as courier:
        for _ in range(3):
            endpoint(database, dead.url)
        endpoint(database, well.url, "harbor-1")
        for _ in range(9):
            completed(OrderStore(database, "main", TELLS))
        told = [completed(OrderStore(database, "harbor-1", TELLS)) for _ in range(9)]
        with going(courier):
            # The dead were tried as well, and hold what they got.
            until(lambda: len(well.ids) == len(told) and len(dead.ids) > 1)
            dead.over.set()
    assert len(set(well.ids)) == len(told)


def test_one_who_is_away_gets_all_in_order_later_and_the_other_at_once(database: Database) -> None:
    with Staged("500") as away, Staged("204") as well, couriers(database) as courier:
        first, second = endpoint(database, away.url), endpoint(database, well.url)
        proposed_and_confirmed(OrderStore(database, "main", TELLS))
        with going(courier):
            until(lambda: len(well.ids) == 2 and len(away.ids) == 1)
            until(lambda: Outbox(database).counts()["delivered"] == 2)
    left = Outbox(database).list(limit=9)
    assert [(one.endpoint_id, one.type) for one in left] == [
        (first, "order.needs_confirmation"), (first, "order.completed"),
    ]  # fmt: skip
    assert second not in {one.endpoint_id for one in left}
    assert left[0].last_error == "answered 500"


def test_a_test_message_is_sent_once_and_says_how_it_went(database: Database) -> None:
    store = EndpointStore(database, "main", "private")
    with Staged("500", "204") as receiver, couriers(database) as courier:
        key = endpoint(database, receiver.url)
        with going(courier):
            for error in ("answered 500", None):
                assert store.ask_test(key, by=TESTER).test_sent_at is None
                until(lambda: _is_noted(store.get(key)))
                assert store.get(key).test_error == error
    assert len(receiver.ids) == 2


@pytest.mark.parametrize("database_url", ["sqlite"], indirect=True)  # what is tried is the process
def test_a_real_courier_serves_endpoints_without_a_url_of_the_deployment(
    database: Database, database_url: str, tmp_path: Path
) -> None:
    config = Settings(home=tmp_path, database_url=database_url, webhook_endpoints="private")
    with Staged("204") as receiver, child(config) as process:
        key = endpoint(database, receiver.url)
        completed(OrderStore(database, "main", TELLS))
        EndpointStore(database, "main", "private").ask_test(key, by=TESTER)
        until(lambda: len(receiver.ids) == 2)
        process.send_signal(signal.SIGTERM)
        assert process.wait(10) == 0
    log = (tmp_path / "courier.log").read_text()
    assert "webhook.tested" in log
    assert "webhook.delivered" in log
    assert SECRET not in log


def _is_noted(one: Endpoint) -> bool:
    return one.test_sent_at is not None and one.test_error != "sent, and no answer was noted"


def test_what_was_claimed_for_an_endpoint_that_went_is_not_sent(database: Database) -> None:
    outbox = Outbox(database)
    with Staged("204") as receiver, couriers(database) as courier:
        key = endpoint(database, receiver.url)
        completed(OrderStore(database, "main", TELLS))
        [message] = outbox.claim(owner="courier-1", limit=1, lease_s=60, endpoint_id=key)
        EndpointStore(database, "main").remove(key, by=TESTER)
        courier.deliver(message)
    assert receiver.ids == []
    assert outbox.counts() == {"delivered": 0, "waiting": 0, "dead": 0}


def test_a_name_that_leads_inside_at_the_send_is_not_posted_to(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It led elsewhere when the endpoint was made (DNS rebinding)."""
    outbox = Outbox(database)
    with Staged("204") as receiver, couriers(database, allowed="public") as courier:
        leads_to(monkeypatch, "8.8.8.8")
        url = f"https://a.example:{receiver.url.rpartition(':')[2]}"
        made, _ = EndpointStore(database, "main", "public").add("main", url, by=TESTER)
        completed(OrderStore(database, "main", TELLS))
        [message] = outbox.claim(owner="courier-1", limit=1, lease_s=60, endpoint_id=made.id)
        leads_to(monkeypatch, "127.0.0.1")
        courier.deliver(message)
    [left] = outbox.list(limit=9)
    assert left.last_error == "not sent: it leads into a private network or to this machine"
    assert receiver.ids == []


# --- TLS ------------------------------------------------------------------------------------------------


def test_the_certificate_must_be_the_names_though_the_address_is_asked(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    certificates(tmp_path, "a.example", "b.example")
    monkeypatch.setenv("SSL_CERT_FILE", str(tmp_path / "ca.pem"))
    leads_to(monkeypatch, "127.0.0.1")
    with tls(tmp_path) as (port, seen), Poster(connect_s=5, total_s=10) as poster:

        def sent(host: str) -> str:
            return poster.post(Target(f"https://{host}:{port}/x", SIGNER, "private"), "msg_1", "{}").error

        assert [sent("a.example"), sent("b.example"), sent("a.example")] == ["", "", ""]
        assert "CERTIFICATE_VERIFY_FAILED" in sent("c.example")
    # Each by a connection of its own: one that is kept is to an address, and another host may be there too.
    assert seen == [(f"{name}.example", f"{name}.example:{port}") for name in "aba"]


def leads_to(monkeypatch: pytest.MonkeyPatch, address: str) -> None:
    real = socket.getaddrinfo

    def found(host: Any, port: Any, *args: Any, **more: Any) -> list[Any]:
        named = isinstance(host, str) and host.endswith(".example")
        return real(address if named else host, port, *args, **more)

    monkeypatch.setattr(socket, "getaddrinfo", found)


@contextmanager
def tls(folder: Path) -> Iterator[tuple[int, list[tuple[str, str]]]]:
    """Its port, and what came as (SNI, Host). It shows the named host's certificate, or the first one's."""
    contexts, seen, names = {}, list[tuple[str, str]](), dict[Any, str]()
    for file in sorted(folder.glob("*.example.pem")):
        contexts[file.stem] = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        contexts[file.stem].load_cert_chain(file)
    default = contexts["a.example"]

    def chosen(connection: ssl.SSLObject, name: str | None, _: ssl.SSLContext) -> None:
        names["sni"] = name or ""
        connection.context = contexts.get(name or "", default)

    default.sni_callback = chosen

    class Receiver(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            self.body()
            seen.append((names["sni"], self.headers["Host"]))
            self.answer(204)

    with ThreadingHTTPServer(("127.0.0.1", 0), Receiver) as server:
        server.socket = default.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_port, seen
        finally:
            server.shutdown()
            thread.join()


def certificates(folder: Path, *hosts: str) -> None:
    """An authority in `ca.pem`, and for each host a key and certificate in `HOST.pem`."""
    authority = ec.generate_private_key(ec.SECP256R1())
    issuer = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "tests")])
    root = signed(issuer, issuer, authority, authority, x509.BasicConstraints(ca=True, path_length=None))
    pem = serialization.Encoding.PEM
    (folder / "ca.pem").write_bytes(root.public_bytes(pem))
    for host in hosts:
        key = ec.generate_private_key(ec.SECP256R1())
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, host)])
        made = signed(subject, issuer, key, authority, x509.SubjectAlternativeName([x509.DNSName(host)]))
        plain = serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
        (folder / f"{host}.pem").write_bytes(key.private_bytes(pem, *plain) + made.public_bytes(pem))


def signed(subject: Any, issuer: Any, key: Any, by: Any, extension: Any) -> x509.Certificate:
    day, now = timedelta(days=1), datetime.now(UTC)
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key.public_key())
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - day)
        .not_valid_after(now + day)
        .add_extension(extension, critical=True)
        .sign(by, hashes.SHA256())
    )
