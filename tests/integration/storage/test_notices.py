"""What a listener hears on either database: each commit that changed an order or a review, and no other."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from infra.sql.database import Database
from infra.sql.notices import Notices, notices
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from schemas.review import ReviewReason
from schemas.transcript import Transcript
from services.storage.orders.store import OrderStore
from services.storage.orders.watched import CHANNEL, WatchedStore
from services.storage.reviews.store import ReviewStore

NEW = NewOrder(
    menu_id="m", menu_version=1, language="en", transcript=Transcript(text="a latte", confidence=1.0)
)
SPOKEN = NewOrder(menu_id="m", menu_version=1, language="en", audio_key="a/b", audio_format="wav")


def heard_of(listener: Notices, *acts: Callable[[], Any]) -> list[set[str | None]]:
    """What came after each act, within a while; the first is what came before any."""
    found: list[set[str | None]] = [set()]

    async def listen() -> None:
        wanted = asyncio.Event()
        wanted.set()
        task = asyncio.create_task(listener.run(lambda what: found[-1].add(what), wanted))
        async with asyncio.timeout(20):
            while not found[0]:
                await asyncio.sleep(0.01)
        for act in acts:
            found.append(set())
            await asyncio.to_thread(act)
            await asyncio.sleep(0.5)
        task.cancel()
        with suppress(asyncio.CancelledError):
            await task

    asyncio.run(listen())
    return found


def test_what_is_heard(database: Database) -> None:
    orders, reviews = OrderStore(database, "main"), ReviewStore(database, "main")
    order, _ = orders.create(NEW)
    held: list[OrderRecord] = []

    def undone() -> None:
        with suppress(ZeroDivisionError), database.write() as session:
            session.connection().exec_driver_sql("UPDATE orders SET version = version + 1")
            raise ZeroDivisionError

    def claim() -> None:
        claimed = orders.claim(order.id, State.TRANSCRIBED, owner="w:1", lease_s=30)
        assert claimed is not None
        held.append(claimed)

    def doubt() -> None:
        orders.commit(held[0], Outcome(Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,)))

    def take() -> None:
        review = reviews.by_order(order.id)
        assert review is not None
        reviews.claim(review.id, "ada", 60)

    listener = notices(database.url, CHANNEL)
    at_first, after_read, after_undone, *changes, after_renewal, after_another = heard_of(
        listener,
        lambda: orders.get(order.id),
        undone,
        claim,
        doubt,
        take,
        take,
        lambda: orders.create(SPOKEN),
    )
    assert at_first == {None}, "what was missed before"
    assert after_read == after_undone == set()
    # SQLite only counts commits: which order it was is asked.
    change = {None} if database.is_sqlite else {order.id}
    assert changes == [change] * 3
    # Nothing that anybody waits for: a claim renewed, and an order that nobody knew before.
    assert after_renewal == after_another == ({None} if database.is_sqlite else set())


def test_nobody_waits_and_sqlite_is_not_asked(migrated_sqlite: Any, tmp_path: Any) -> None:
    listener = notices(Database(f"sqlite:///{tmp_path / 'none.db'}").url, CHANNEL)

    async def listen() -> list[str | None]:
        heard: list[str | None] = []
        with suppress(TimeoutError):
            await asyncio.wait_for(listener.run(heard.append, asyncio.Event()), 0.3)
        return heard

    assert asyncio.run(listen()) == []
    assert not (tmp_path / "none.db").exists()


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
