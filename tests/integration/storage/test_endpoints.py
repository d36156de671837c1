"""Webhook endpoints of shops in storage, on SQLite and on PostgreSQL: who is told, in order, under which
secret, and what becomes of what waits."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from sqlalchemy import select, text, update
from standardwebhooks.webhooks import Webhook, WebhookVerificationError

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, NotFound
from schemas.lifecycle import Event
from schemas.shops.access import EVERY_SHOP
from schemas.shops.endpoint import MAX_ENDPOINTS, Endpoint
from schemas.shops.webhook import TO_ENDPOINTS
from services.storage.audit.log import AuditLog
from services.storage.base.tables import OutboxRow
from services.storage.base.tables_webhooks import WebhookEndpointRow
from services.storage.orders.store import OrderStore
from services.storage.outbox.endpoint_ways import Ways
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.outbox_order import OWN_URL
from services.storage.outbox.store import Message, Outbox
from services.storage.shops.store import ShopStore
from tests.integration.storage.test_outbox import ALL, completed, moved, proposed_and_confirmed
from tests.stand_ins import TESTER

TELLS = ALL | {TO_ENDPOINTS}
URL = "https://8.8.8.8/hook?token=t0psecret"


@pytest.fixture
def orders(database: Database) -> OrderStore:
    return OrderStore(database, "main", TELLS)


@pytest.fixture
def outbox(database: Database) -> Outbox:
    return Outbox(database)


@pytest.fixture
def endpoints(database: Database) -> EndpointStore:
    return EndpointStore(database, "main", "public")


def made(endpoints: EndpointStore, *events: str, enabled: bool = True) -> Endpoint:
    return endpoints.add("main", URL, events or None, enabled=enabled, by=TESTER)[0]


def claim(outbox: Outbox, endpoint_id: str = OWN_URL) -> list[Message]:
    return outbox.claim(owner="c", limit=9, lease_s=60, endpoint_id=endpoint_id)


def waiting(outbox: Outbox) -> list[tuple[str, str]]:
    return sorted((one.endpoint_id, one.type) for one in outbox.list(limit=99))


def test_a_shop_is_told_where_it_asked_for_and_others_as_before(
    database: Database, orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    ShopStore(database).add("harbor-1", "Harbor", by=TESTER)
    all_of_it, reviews = made(endpoints), made(endpoints, "order.needs_review")
    made(endpoints, enabled=False)
    completed(orders)
    moved(orders, Event.DOUBTED)
    completed(OrderStore(database, "harbor-1", TELLS))
    completed(OrderStore(database, "main", ALL))  # of a deployment that has turned endpoints off
    assert waiting(outbox) == sorted(
        [
            (all_of_it.id, "order.completed"), (all_of_it.id, "order.needs_review"),
            (reviews.id, "order.needs_review"), (OWN_URL, "order.completed"), (OWN_URL, "order.completed"),
        ]
    )  # fmt: skip
    assert sorted(outbox.endpoints_due()) == sorted([OWN_URL, all_of_it.id, reviews.id])
    assert [(one.waiting, one.dead) for one in endpoints.list()] == [(2, 0), (1, 0), (0, 0)]


def test_endpoints_alone_without_a_url_of_the_deployment(
    database: Database, outbox: Outbox, endpoints: EndpointStore
) -> None:
    orders = OrderStore(database, "main", frozenset({TO_ENDPOINTS}))
    completed(orders)
    assert waiting(outbox) == []
    mine = made(endpoints, "order.completed")
    proposed_and_confirmed(orders)
    assert waiting(outbox) == [(mine.id, "order.completed")]


def test_messages_of_an_order_are_in_order_to_each_endpoint_by_itself(
    orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    one, two = made(endpoints), made(endpoints)
    order = proposed_and_confirmed(orders)
    [first], [other] = claim(outbox, one.id), claim(outbox, two.id)
    assert first.seq == other.seq < order.version
    assert claim(outbox, OWN_URL) == []
    # The one is away, and the other goes on.
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


def test_two_secrets_sign_until_the_overlap_is_over(database: Database, endpoints: EndpointStore) -> None:
    at = datetime.now(UTC)
    one, old = endpoints.add("main", URL, by=TESTER)
    assert signs(database, one.id) == [old]
    changed, new = endpoints.rotate(one.id, 3600, by=TESTER)
    assert changed.old_secret_until is not None
    assert signs(database, one.id, old) == [new, old]
    past = {"old_secret_until": at - timedelta(seconds=1)}
    with database.write() as session:
        session.execute(update(WebhookEndpointRow).values(past))
    assert signs(database, one.id, old) == [new]
    _, newest = endpoints.rotate(one.id, 0, by=TESTER)
    assert signs(database, one.id, old, new) == [newest]


def signs(database: Database, endpoint_id: str, *before: str) -> list[str]:
    """The secrets, of all that there ever were, under each of which a message of now is signed."""
    target = Ways(database, None, "public").to(endpoint_id)
    assert target is not None
    headers = target.signer.headers("msg_1", "{}", datetime.now(UTC))
    with database.read() as session:
        newest = session.scalars(select(WebhookEndpointRow.secret)).one()
    found = [secret for secret in (newest, *before[::-1]) if takes(secret, headers)]
    assert len(headers["webhook-signature"].split()) == len(found)
    return found


def takes(secret: str, headers: dict[str, str]) -> bool:
    try:
        Webhook(secret).verify(b"{}", headers)
    except WebhookVerificationError:
        return False
    return True


def test_what_waits_for_an_endpoint_goes_with_it(
    database: Database, orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
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


def test_a_message_that_was_written_while_its_endpoint_went_ends_too(
    database: Database, orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    completed(orders)
    with database.write() as session:  # as a transaction leaves it that began before the removal
        session.execute(update(OutboxRow).values(endpoint_id="whk_gone"))
    assert outbox.endpoints_due() == []
    assert outbox.forget(3600.0) == 1
    assert outbox.counts() == {"delivered": 0, "waiting": 0, "dead": 0}


def test_a_disabled_endpoint_keeps_what_waits_and_is_not_late(
    orders: OrderStore, outbox: Outbox, endpoints: EndpointStore
) -> None:
    one = made(endpoints)
    completed(orders)
    assert outbox.oldest_s() >= 0
    assert endpoints.change(one.id, {"enabled": False}, by=TESTER).disabled_at is not None
    completed(orders)
    assert (outbox.endpoints_due(), outbox.oldest_s()) == ([], 0.0)
    changed = endpoints.change(one.id, {"enabled": True, "events": ["order.failed"]}, by=TESTER)
    assert (changed.waiting, changed.events, changed.url) == (1, ("order.failed",), URL)
    assert outbox.endpoints_due() == [one.id]


def test_another_shops_endpoints_are_not_there(database: Database, endpoints: EndpointStore) -> None:
    ShopStore(database).add("harbor-1", "Harbor", by=TESTER)
    one, other = made(endpoints), EndpointStore(database, "harbor-1", "public")
    assert other.list() == []
    for act in (
        lambda: other.get(one.id),
        lambda: other.change(one.id, {"enabled": False}, by=TESTER),
        lambda: other.rotate(one.id, 0, by=TESTER),
        lambda: other.ask_test(one.id, by=TESTER),
        lambda: other.remove(one.id, by=TESTER),
        lambda: other.add("main", URL, by=TESTER),
    ):
        with pytest.raises(NotFound):
            act()
    assert [e.id for e in EndpointStore(database, EVERY_SHOP).list()] == [one.id]


def test_what_can_not_be_an_endpoint(database: Database, endpoints: EndpointStore) -> None:
    for url in (
        "http://8.8.8.8/",
        "https://127.0.0.1/",
        "https://localhost/",
        "https://169.254.169.254/",
        "x",
    ):
        with pytest.raises(InputError, match="URL"):
            endpoints.add("main", url, by=TESTER)
    for events in (["order.eaten"], []):
        with pytest.raises(InputError):
            endpoints.add("main", URL, events, by=TESTER)
    with pytest.raises(Conflict, match="can't have their own webhook endpoints"):
        EndpointStore(database, "main", "off").add("main", URL, by=TESTER)
    inside, _ = EndpointStore(database, "main", "private").add("main", "https://10.0.0.1/", by=TESTER)
    with pytest.raises(InputError):
        endpoints.change(inside.id, {"url": "https://10.0.0.2/"}, by=TESTER)
    for _ in range(MAX_ENDPOINTS - 1):
        made(endpoints)
    with pytest.raises(Conflict, match="at most"):
        made(endpoints)


def test_the_audit_log_has_each_act_and_neither_secret_nor_token(
    database: Database, endpoints: EndpointStore
) -> None:
    one, secret = endpoints.add("main", URL, by=TESTER)
    endpoints.change(one.id, {"enabled": False}, by=TESTER)
    _, new = endpoints.rotate(one.id, 60, by=TESTER)
    endpoints.ask_test(one.id, by=TESTER)
    endpoints.remove(one.id, by=TESTER)
    log = AuditLog(database)
    acts = ["added", "changed", "rotated", "test_asked", "removed"]
    assert [entry.action for entry in log.entries()] == [f"webhook.{act}" for act in acts]
    assert [verdict.fault for verdict in log.verify()] == [None]
    with database.read() as session:
        told = str(session.execute(text("SELECT * FROM audit_log")).all())
        assert session.scalars(select(WebhookEndpointRow.id)).all() == []
    assert "https://8.8.8.8" in told
    for hidden in (secret, new, "t0psecret"):
        assert hidden not in told
