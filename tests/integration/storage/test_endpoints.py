"""Webhook endpoints in storage: which endpoint gets which message, and what happens to pending ones."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from click.testing import Result
from sqlalchemy import select, text, update

from infra.sql.database import Database
from infra.webhooks import Target
from schemas.errors import Conflict, InputError, NotFound
from schemas.lifecycle import Event
from schemas.shops.access import EVERY_SHOP
from schemas.shops.webhook import MAX_ENDPOINTS, Endpoint
from services.storage.audit.log import AuditLog
from services.storage.base.tables import OutboxRow, WebhookEndpointRow
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.storage.shops.store import ShopStore
from tests.integration.storage.test_outbox import completed, moved, proposed_and_confirmed
from tests.stand_ins import TESTER

URL = "https://8.8.8.8/hook?token=t0psecret"


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


@pytest.fixture
def endpoints(database: Database) -> EndpointStore:
    return EndpointStore(database, "main", "public")


def made(endpoints: EndpointStore, *events: str) -> Endpoint:
    return endpoints.add("main", URL, events or None, by=TESTER)[0]


def claim(outbox: Outbox, endpoint_id: str) -> list[OutboxRow]:
    return outbox.claim(limit=9, lease_s=60, endpoint_id=endpoint_id)


def test_each_endpoint_gets_its_subscribed_messages(
    database: Database, orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    ShopStore(database).add("harbor-1", "Harbor", by=TESTER)
    completed(orders)  # before the first endpoint
    all_of_it, reviews = made(endpoints), made(endpoints, "order.needs_review")
    completed(orders)
    moved(orders, Event.DOUBTED)
    completed(OrderStore(database, "harbor-1"))
    assert sorted((one.endpoint_id, one.type) for one in outbox.list(limit=99)) == sorted(
        [
            (all_of_it.id, "order.completed"), (all_of_it.id, "order.needs_review"),
            (reviews.id, "order.needs_review"),
        ]
    )  # fmt: skip
    assert sorted(outbox.endpoints_due()) == sorted([all_of_it.id, reviews.id])
    assert [(one.waiting, one.dead) for one in endpoints.list()] == [(2, 0), (1, 0)]


def test_messages_are_in_order_for_each_endpoint(
    orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    one, two = made(endpoints), made(endpoints)
    order = proposed_and_confirmed(orders)
    [first], [other] = claim(outbox, one.id), claim(outbox, two.id)
    assert first.seq == other.seq < order.version
    # One endpoint is down, the other is not affected.
    assert outbox.failed(first, "away", retry_in_s=600)
    assert outbox.delivered(other)
    [after] = claim(outbox, two.id)
    assert after.type == "order.completed"
    assert claim(outbox, one.id) == []
    assert outbox.delivered(after)
    assert outbox.replay([other.id]) == [other.id]
    assert [message.id for message in claim(outbox, two.id)] == [other.id]
    assert claim(outbox, one.id) == []
    assert [(e.waiting, e.dead) for e in endpoints.list()] == [(2, 0), (1, 0)]


def test_removing_an_endpoint_ends_its_messages(
    orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    one, stays = made(endpoints), made(endpoints)
    for _ in range(3):
        completed(orders)
    posted, dead, _ = claim(outbox, one.id)
    assert outbox.failed(dead, "no", retry_in_s=None)
    assert outbox.counts() == {"delivered": 0, "waiting": 5, "dead": 1}
    assert endpoints.remove(one.id, by=TESTER) == 3
    assert not outbox.delivered(posted), "it is settled already"
    assert outbox.counts() == {"delivered": 0, "waiting": 3, "dead": 0}
    assert {m.endpoint_id for m in outbox.list(limit=9)} == {stays.id}
    assert outbox.replay() == []
    with pytest.raises(NotFound):
        outbox.replay([posted.id])
    with pytest.raises(NotFound):
        endpoints.remove(one.id, by=TESTER)


def test_messages_written_during_removal_end_too(
    database: Database, orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    made(endpoints)
    completed(orders)
    with database.write() as session:  # like a transaction that began before the removal
        session.execute(update(OutboxRow).values(endpoint_id="whk_gone"))
    assert outbox.endpoints_due() == []
    assert outbox.forget(3600.0) == 1
    assert outbox.counts() == {"delivered": 0, "waiting": 0, "dead": 0}


def test_endpoints_of_other_shops_are_not_found(database: Database, endpoints: EndpointStore) -> None:
    ShopStore(database).add("harbor-1", "Harbor", by=TESTER)
    one, other = made(endpoints), EndpointStore(database, "harbor-1", "public")
    assert other.list() == []
    assert other.target(one.id) is None
    with pytest.raises(NotFound):
        other.remove(one.id, by=TESTER)
    with pytest.raises(NotFound):
        other.add("main", URL, by=TESTER)
    assert [e.id for e in EndpointStore(database, EVERY_SHOP).list()] == [one.id]


def test_destinations_follow_the_current_setting(database: Database) -> None:
    inside, secret = EndpointStore(database, "main", "private").add("main", "https://10.0.0.1/", by=TESTER)
    for allowed, private in (("private", True), ("public", False), ("off", False)):
        store = EndpointStore(database, EVERY_SHOP, allowed)  # type: ignore[arg-type]
        assert store.target(inside.id) == Target("https://10.0.0.1/", secret, private)


def test_invalid_endpoints(database: Database, endpoints: EndpointStore) -> None:
    inside = ("https://127.0.0.1/", "https://10.0.0.1/", "https://localhost/", "https://169.254.169.254/")
    for url in ("http://8.8.8.8/", "x", *inside):
        with pytest.raises(InputError, match="URL"):
            endpoints.add("main", url, by=TESTER)
    for events in (["order.eaten"], []):
        with pytest.raises(InputError):
            endpoints.add("main", URL, events, by=TESTER)
    with pytest.raises(Conflict, match="can't have their own webhook endpoints"):
        EndpointStore(database, "main", "off").add("main", URL, by=TESTER)
    for _ in range(MAX_ENDPOINTS):
        made(endpoints)
    with pytest.raises(Conflict, match="at most"):
        made(endpoints)


def test_acts_are_audited_without_secrets(database: Database, endpoints: EndpointStore) -> None:
    one, secret = endpoints.add("main", URL, by=TESTER)
    endpoints.remove(one.id, by=TESTER)
    assert [entry.action for entry in AuditLog(database).entries()] == ["webhook.added", "webhook.removed"]
    with database.read() as session:
        entries = str(session.execute(text("SELECT * FROM audit_log")).all())
        assert session.scalars(select(WebhookEndpointRow.id)).all() == []
    assert "https://8.8.8.8" in entries
    assert secret not in entries
    assert "t0psecret" not in entries


def test_the_command_line(
    saycart: Callable[..., Result], database: Database, endpoints: EndpointStore
) -> None:
    def run(*words: str, code: int = 0) -> str:
        done = saycart("webhooks", *words, webhook_endpoints="private")
        assert done.exit_code == code, done.output
        return done.output

    secret = run("add", URL, "--events", "order.completed,order.failed").split()[-1]
    [one] = endpoints.list()
    assert secret.startswith("whsec_")
    shown = run("endpoints")
    for part in (one.id, URL, "order.completed order.failed"):
        assert part in shown
    assert secret not in shown
    assert "0 waiting messages dropped" in run("remove", one.id)
    run("remove", one.id, code=1)
    run("add", "http://10.0.0.1", code=1)
    entries = AuditLog(database).entries(action="webhook")
    assert all(entry.actor.startswith("operator:") for entry in entries)
