"""What clients that wait for orders ask, on SQLite and on PostgreSQL."""

from __future__ import annotations

from infra.sql.database import Database
from schemas.lifecycle import Event
from schemas.records.orders import NewOrder, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.storage.orders.store import OrderStore
from services.storage.orders.watched import WatchedStore
from services.storage.reviews.store import ReviewStore

NEW = NewOrder(
    menu_id="m", menu_version=1, language="en", transcript=Transcript(text="a latte", confidence=1.0)
)
SPOKEN = NewOrder(menu_id="m", menu_version=1, language="en", audio_key="a/b", audio_format="wav")


def test_newer_than_what_was_seen(database: Database) -> None:
    orders, reviews, store = (
        OrderStore(database, "main"),
        ReviewStore(database, "main"),
        WatchedStore(database),
    )
    (first, _), (second, _) = orders.create(NEW), orders.create(SPOKEN)
    seen = {first.id: (first.version, 0), second.id: (1, 0), "ord_none": (0, 0)}
    assert store.newer(seen) == {}
    orders.commit(orders.get(first.id), Outcome(Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,)))
    assert store.newer(seen) == {first.id: (first.version + 1, 1)}
    review = reviews.by_order(first.id)
    assert review is not None
    reviews.claim(review.id, "ada", 60)
    now = (first.version + 1, 2)
    assert store.newer(seen | {first.id: (first.version + 1, 1)}) == {first.id: now}
    assert store.newer({}) == {}
    looked = store.look(first.id)
    assert looked is not None
    assert (looked.versions, looked.order, looked.review) == (
        now, orders.get(first.id), reviews.by_order(first.id),
    )  # fmt: skip
    other = store.look(second.id)
    assert other is not None
    assert (other.versions, other.review) == ((1, 0), None)
    assert store.look("ord_none") is None


def test_a_history_after_an_event(database: Database) -> None:
    orders, store = OrderStore(database, "main"), WatchedStore(database)
    first, _ = orders.create(NEW)
    orders.commit(first, Outcome(Event.DECODED))
    history = tuple(orders.events(first.id))
    for after, events in ((0, history), (history[-1].seq, ()), (10**18, ())):
        found = store.happened(first.id, after)
        assert found is not None
        assert (found.events, found.versions) == (events, (first.version + 1, 0))
    assert store.happened("ord_none", 0) is None
