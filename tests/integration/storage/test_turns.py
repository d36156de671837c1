"""Fair scheduling: shops and sources take turns by measured seconds."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from sqlalchemy import update

from infra.blobs.folder import BlobFolder
from infra.sql.database import Database
from schemas.errors import DecodeCancelled, MenuBeingRead, StaleState
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from schemas.shops.access import PAGE
from services.decoding.ports import CartRequest, DecodedCart
from services.storage.base.tables import OrderRow, TurnRow
from services.storage.orders.load import LoadStore
from services.storage.orders.store import OrderStore
from services.storage.orders.turns import CROWD_SIZE, ESTIMATE_S, MAX_S, MENU_GAP_S
from services.storage.shops.store import ShopStore
from tests.stand_ins import RIGHT, TESTER, Pipeline, read_as, speech

TILL, OTHER_TILL = "till", "second-till"
PAGE_S = 30.0


class Queue:
    """Orders of two shops waiting for the decoder, and one worker."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.pipeline = Pipeline(database, BlobFolder(folder / "blobs"))
        for shop in ("other", "third"):
            ShopStore(database).add(shop, shop, by=TESTER)
        self.database = database
        self.orders = OrderStore(database, "*", page_s=PAGE_S)
        self.named: dict[str, str] = {}

    def came(self, *clients: str, shop: str = "main") -> None:
        for client in clients:
            words = speech("a latte")
            new = NewOrder("trap-cafe", 1, "en", transcript=words, client=client)
            order, _ = OrderStore(self.database, shop).create(new)
            self.named[order.id] = f"{shop}:{client}"

    def take(self) -> OrderRecord | None:
        return self.orders.claim_next(State.TRANSCRIBED, owner="h:1:1", lease_s=60)

    def served(self, count: int, *, seconds: dict[str, float] | None = None) -> list[str]:
        """Run orders for the seconds of their source; return the sources in order."""
        found = []
        for _ in range(count):
            order = self.take()
            assert order is not None
            found.append(self.named[order.id])
            self.put_down(order, (seconds or {}).get(found[-1], 1.0))
        return found

    def put_down(self, order: OrderRecord, seconds: float = 1.0) -> None:
        with self.database.write() as session:  # as if it had been claimed that long ago
            since = self.database.now(session) - timedelta(seconds=seconds)
        self.orders.commit(replace(order, claimed_at=since), Outcome(Event.DECODED, draft=RIGHT))


@pytest.fixture
def queue(database: Database, tmp_path: Path) -> Queue:
    return Queue(database, tmp_path)


def page(address: str, visitor: str = "v") -> str:
    return f"page:/{address}/{visitor}"


def test_tills_go_before_pages(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), page("7.7.7.7"), TILL)
    assert queue.served(1) == [f"main:{TILL}"]


def test_addresses_take_turns_whatever_their_browsers(queue: Queue) -> None:
    queue.came(*[page("6.6.6.6", f"v{n}") for n in range(CROWD_SIZE)], page("7.7.7.7"), page("8.8.8.8"))
    assert [one.split("/")[1] for one in queue.served(4)] == ["6.6.6.6", "7.7.7.7", "8.8.8.8", "6.6.6.6"]


def test_long_orders_give_a_shop_no_more_than_its_share(queue: Queue) -> None:
    queue.came(*[TILL] * 3)
    queue.came(*[TILL] * 6, shop="other")
    long, short = f"main:{TILL}", f"other:{TILL}"
    found = queue.served(7, seconds={long: 4.5, short: 1.0})
    assert found == [long, short, short, short, short, short, long]


def test_long_orders_give_a_source_no_more_than_its_share(queue: Queue) -> None:
    queue.came(*[TILL] * 3, *[OTHER_TILL] * 6)
    found = queue.served(7, seconds={f"main:{TILL}": 4.5, f"main:{OTHER_TILL}": 1.0})
    assert found == [f"main:{TILL}", *[f"main:{OTHER_TILL}"] * 5, f"main:{TILL}"]


def test_an_idle_shop_does_not_accumulate_time(queue: Queue) -> None:
    queue.came(TILL, shop="other")
    queue.served(1)
    queue.came(*[TILL] * 20)
    queue.served(10, seconds={f"main:{TILL}": 3.0})
    queue.came(*[TILL] * 5, shop="other")
    assert f"main:{TILL}" in queue.served(5), "it is not 29 seconds behind"


def test_claimed_orders_count_before_they_are_done(queue: Queue) -> None:
    queue.came(*[TILL] * 4)
    queue.came(*[TILL] * 4, shop="other")
    taken = [queue.named[order.id] for _ in range(4) if (order := queue.take()) is not None]
    assert taken == [f"main:{TILL}", f"other:{TILL}"] * 2


def test_an_address_has_one_claimed_order_and_a_till_any_number(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), page("6.6.6.6", "w"), TILL, TILL)
    taken = [order for _ in range(4) if (order := queue.take()) is not None]
    assert [queue.named[order.id] for order in taken] == [f"main:{TILL}"] * 2 + ["main:" + page("6.6.6.6")]
    queue.put_down(taken[-1])
    assert queue.take() is not None


def test_fifty_workers_at_once_take_fifty_orders(
    queue: Queue, race: Callable[[int, Callable[[int], Any]], list[Any]]
) -> None:
    queue.came(*[TILL] * 25)
    queue.came(*[TILL] * 25, shop="other")
    found = race(50, lambda _: queue.take())
    assert len({order.id for order in found}) == 50


def test_idle_clocks_are_deleted(queue: Queue) -> None:
    queue.came(TILL)
    queue.served(1)
    assert queue.orders.forget_turns(60) == 0
    assert queue.orders.forget_turns(-1) == 2


def test_prefilling_a_menu_uses_up_no_attempts(queue: Queue) -> None:
    pipeline = queue.pipeline
    new = pipeline.typed()
    asked: list[str] = []

    def decode(request: CartRequest, *_asked: object) -> DecodedCart:
        asked.append(request.transcript)
        assert request.chunked_prefill
        if len(asked) < 10:
            raise MenuBeingRead("new", wait_s=0.0)
        return read_as(RIGHT)

    pipeline.decoder.decode = decode  # type: ignore[method-assign]
    for _ in range(9):
        assert pipeline.runner().run(new, "decode") is State.TRANSCRIBED
    order = pipeline.orders.get(new)
    assert (order.attempt, order.lease_owner, pipeline.types(new)) == (
        0,
        None,
        pipeline.types(pipeline.typed()),
    )
    assert pipeline.bell.rung == [(new, State.TRANSCRIBED, 0.0)] * 9
    assert pipeline.runner().run(new, "decode") is State.COMPLETED


def test_one_order_on_new_menus_is_tried_after_a_while(queue: Queue) -> None:
    def handed_back() -> OrderRecord:
        order = queue.take()
        assert order is not None
        queue.orders.release(order, retry_in_s=0.0, code=None)
        return order

    queue.came(TILL, TILL, TILL)
    assert len({handed_back().id for _ in range(3)}) == 3
    queue.came(TILL, TILL, TILL, shop="other")
    assert queue.served(1) == [f"other:{TILL}"]
    with queue.database.write() as session:
        long_ago = queue.database.now(session) - timedelta(seconds=MENU_GAP_S)
        mine = OrderRow.shop_id == "main"
        session.execute(update(OrderRow).where(mine).values(next_attempt_at=long_ago))
    assert [queue.named[handed_back().id], *queue.served(2)] == [f"main:{TILL}", *[f"other:{TILL}"] * 2]


def test_a_source_with_new_menus_comes_after_the_others(queue: Queue) -> None:
    queue.came(TILL)
    order = queue.take()
    assert order is not None
    queue.orders.release(order, retry_in_s=0.0, code=None)
    queue.came(TILL, OTHER_TILL)
    queue.came(*[TILL] * 3, shop="other")
    found = queue.served(5)
    assert sorted(found[:4]) == [f"main:{OTHER_TILL}", *[f"other:{TILL}"] * 3]
    assert found[4] == f"main:{TILL}"
    last = queue.take()
    assert last is not None
    assert last.id == order.id, "the one that was handed back is the last"


@pytest.fixture
def in_one_minute(queue: Queue) -> None:
    with queue.database.write() as session:
        left_s = 60 - queue.database.now(session).timestamp() % 60
    if left_s < 8:
        time.sleep(left_s)


@pytest.mark.usefixtures("in_one_minute")
def test_seconds_of_work_are_counted_by_shop_and_source(queue: Queue) -> None:
    queue.came(TILL, TILL, page("6.6.6.6"))
    queue.served(3, seconds={f"main:{TILL}": 2.0, "main:" + page("6.6.6.6"): 0.5})
    seconds = LoadStore(queue.database).load().seconds
    found = {source: round(used, 1) for (_, source), used in seconds.items()}
    assert found == pytest.approx({"": 4.5, TILL: 4.0, PAGE: 0.5, "page:/6.6.6.6": 0.5}, abs=0.3)


@pytest.mark.usefixtures("in_one_minute")
def test_an_address_over_its_seconds_waits_for_the_next_minute(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), page("6.6.6.6"))
    queue.served(1, seconds={"main:" + page("6.6.6.6"): PAGE_S})
    assert queue.take() is None
    assert queue.orders.due(limit=9, idle_s=0) == [], "nothing is rung for in vain"
    with queue.database.everywhere().write() as session:
        session.execute(update(TurnRow).values(minute=TurnRow.minute - 1))
    assert len(queue.orders.due(limit=9, idle_s=0)) == 2
    assert queue.take() is not None


def test_workers_are_notified_again_after_an_order_from_a_page(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), TILL)
    pipeline = queue.pipeline
    pipeline.decoder.meanwhile = lambda: pipeline.bell.rung.append(("claimed", State.TRANSCRIBED, 0.0))
    first, _ = queue.named
    runner = replace(pipeline.runner(), orders=queue.orders)
    assert [runner.run(first, "decode") for _ in range(2)] == [State.COMPLETED, State.PROPOSED]
    assert [rung for rung, _, _ in pipeline.bell.rung] == ["claimed", "claimed", first]


@pytest.mark.usefixtures("in_one_minute")
@pytest.mark.parametrize("error", [None, DecodeCancelled("called off")], ids=["late result", "called off"])
def test_work_on_a_cancelled_order_counts(queue: Queue, error: Exception | None) -> None:
    queue.came(TILL)
    pipeline = queue.pipeline
    [order_id] = queue.named

    def cancelled() -> None:
        pipeline.cancel(order_id)
        time.sleep(0.1)
        if error:
            raise error

    pipeline.decoder.meanwhile = cancelled
    assert pipeline.runner().run(order_id, "decode") is None
    seconds = LoadStore(queue.database).load().seconds
    assert ESTIMATE_S <= seconds["main", TILL] == seconds["main", ""] < ESTIMATE_S + 1, "charged once"


@pytest.mark.usefixtures("in_one_minute")
def test_a_hung_worker_is_charged_until_its_last_sign_of_life(queue: Queue) -> None:
    queue.came(TILL)
    hung = queue.take()
    assert hung is not None
    with queue.database.everywhere().write() as session:
        since = queue.database.now(session) - timedelta(seconds=3600)
        renewed = {"claimed_at": since, "lease_until": since + timedelta(seconds=5 + 60)}
        session.execute(update(OrderRow).values(renewed))
    assert queue.served(1, seconds={f"main:{TILL}": 2.0}) == [f"main:{TILL}"]
    with pytest.raises(StaleState):
        queue.put_down(hung, 3600.0)
    used = LoadStore(queue.database).load().seconds["main", TILL]
    assert used == pytest.approx(5 + ESTIMATE_S + 2, abs=0.5)


@pytest.mark.usefixtures("in_one_minute")
def test_a_suspended_worker_is_charged_no_more_than_a_stage_may_take(queue: Queue) -> None:
    queue.came(TILL)
    queue.served(1, seconds={f"main:{TILL}": 3600.0})
    assert LoadStore(queue.database).load().seconds["main", TILL] == MAX_S


@pytest.mark.usefixtures("in_one_minute")
def test_prefilling_a_new_menu_counts_for_no_customer(queue: Queue) -> None:
    queue.came(page("6.6.6.6"))
    order = queue.take()
    assert order is not None
    with queue.database.write() as session:
        since = queue.database.now(session) - timedelta(seconds=PAGE_S)
    queue.orders.release(replace(order, claimed_at=since), retry_in_s=0.0, code=None)
    assert set(LoadStore(queue.database).load().seconds.values()) == {0.0}
    assert queue.take() is not None


def test_a_crowd_from_one_address_comes_after_all_others(queue: Queue) -> None:
    queue.came(*[page("6.6.6.6")] * (CROWD_SIZE + 2))
    queue.came(page("7.7.7.7"), shop="other")
    queue.came(page("8.8.8.8"), page("8.8.8.8"))
    found = [one.split("/")[1] for one in queue.served(5)]
    assert sorted(found[:3]) == ["7.7.7.7", "8.8.8.8", "8.8.8.8"]
    assert found[3:] == ["6.6.6.6", "6.6.6.6"]


def test_untranscribed_recordings_count_as_a_crowd(queue: Queue) -> None:
    for number in range(CROWD_SIZE):
        new = NewOrder("trap-cafe", 1, "en", audio_key=f"{number}", client=page("6.6.6.6"))
        OrderStore(queue.database, "main").create(new)
    queue.came(page("6.6.6.6"), page("7.7.7.7"), page("8.8.8.8"))
    assert [one.split("/")[1] for one in queue.served(3)] == ["7.7.7.7", "8.8.8.8", "6.6.6.6"]
