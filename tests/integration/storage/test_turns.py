"""Whose order is next: turns by shop and source on measured seconds, on SQLite and on PostgreSQL."""

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
from schemas.errors import MenuBeingRead
from schemas.lifecycle import Event, State
from schemas.records.orders import NewOrder, OrderRecord, Outcome
from services.decoding.ports import CartRequest, Reading
from services.storage.base.tables import OrderRow, TurnRow
from services.storage.orders.load import LoadStore
from services.storage.orders.store import OrderStore
from services.storage.orders.turns import CROWD, GAP_S, PAGE_S
from services.storage.shops.store import ShopStore
from tests.stand_ins import RIGHT, SAID, TESTER, Works, read_as, speech

TILL, OTHER_TILL = "till", "second-till"


class Queue:
    """Orders of two shops that wait for the decoder, and one worker of all."""

    def __init__(self, database: Database, folder: Path) -> None:
        self.works = Works(database, BlobFolder(folder / "blobs"))
        for shop in ("other", "third"):
            ShopStore(database).add(shop, shop, by=TESTER)
        self.database = database
        self.orders = OrderStore(database, "*")
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
        """Whose orders are worked on, one after the other, each as long as `seconds` says for its source."""
        found = []
        for _ in range(count):
            order = self.take()
            assert order is not None
            found.append(self.named[order.id])
            self.put_down(order, (seconds or {}).get(found[-1], 1.0))
        return found

    def put_down(self, order: OrderRecord, seconds: float = 1.0) -> None:
        with self.database.write() as session:  # as if it had been claimed so long ago
            since = self.database.now(session) - timedelta(seconds=seconds)
        self.orders.commit(replace(order, claimed_at=since), Outcome(Event.DECODED, draft=RIGHT))


@pytest.fixture
def queue(database: Database, tmp_path: Path) -> Queue:
    return Queue(database, tmp_path)


def page(address: str, visitor: str = "v") -> str:
    return f"page:/{address}/{visitor}"


def test_in_a_shop_the_tills_go_before_the_pages(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), page("7.7.7.7"), TILL)
    assert queue.served(1) == [f"main:{TILL}"]


def test_the_addresses_of_a_shop_s_pages_take_turns_whatever_browsers_they_name(queue: Queue) -> None:
    queue.came(*[page("6.6.6.6", f"v{n}") for n in range(CROWD)], page("7.7.7.7"), page("8.8.8.8"))
    assert [one.split("/")[1] for one in queue.served(4)] == ["6.6.6.6", "7.7.7.7", "8.8.8.8", "6.6.6.6"]


def test_a_shop_with_few_long_orders_gets_no_more_than_its_share(queue: Queue) -> None:
    queue.came(*[TILL] * 3)
    queue.came(*[TILL] * 6, shop="other")
    long, short = f"main:{TILL}", f"other:{TILL}"
    found = queue.served(7, seconds={long: 4.5, short: 1.0})
    assert found == [long, short, short, short, short, short, long]


def test_a_source_with_few_long_orders_gets_no_more_than_its_share(queue: Queue) -> None:
    queue.came(*[TILL] * 3, *[OTHER_TILL] * 6)
    found = queue.served(7, seconds={f"main:{TILL}": 4.5, f"main:{OTHER_TILL}": 1.0})
    assert found == [f"main:{TILL}", *[f"main:{OTHER_TILL}"] * 5, f"main:{TILL}"]


def test_a_shop_that_comes_back_does_not_make_up_for_the_time_away(queue: Queue) -> None:
    queue.came(TILL, shop="other")
    queue.served(1)
    queue.came(*[TILL] * 20)
    queue.served(10, seconds={f"main:{TILL}": 3.0})
    queue.came(*[TILL] * 5, shop="other")
    assert f"main:{TILL}" in queue.served(5), "it is not 29 seconds behind"


def test_orders_in_hand_count_before_they_are_done(queue: Queue) -> None:
    queue.came(*[TILL] * 4)
    queue.came(*[TILL] * 4, shop="other")
    taken = [queue.named[order.id] for _ in range(4) if (order := queue.take()) is not None]
    assert taken == [f"main:{TILL}", f"other:{TILL}"] * 2


def test_an_address_has_one_order_in_hand_and_a_till_as_many_as_there_are_workers(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), page("6.6.6.6", "w"), TILL, TILL)
    taken = [order for _ in range(4) if (order := queue.take()) is not None]
    assert [queue.named[order.id] for order in taken] == [f"main:{TILL}"] * 2 + ["main:" + page("6.6.6.6")]
    assert queue.orders.waits_for(taken[0]) is None
    waits = queue.orders.waits_for(taken[-1])
    queue.put_down(taken[-1])
    order = queue.take()
    assert order is not None
    assert order.id == waits


def test_fifty_workers_at_once_take_fifty_orders(
    queue: Queue, race: Callable[[int, Callable[[int], Any]], list[Any]]
) -> None:
    queue.came(*[TILL] * 25)
    queue.came(*[TILL] * 25, shop="other")
    found = race(50, lambda _: queue.take())
    assert len({order.id for order in found}) == 50


def test_the_clock_of_who_orders_no_more_is_forgotten(queue: Queue) -> None:
    queue.came(TILL)
    queue.served(1)
    assert queue.orders.forget_turns(60) == 0
    assert queue.orders.forget_turns(-1) == 2


def test_a_message_says_that_there_is_work_and_not_whose(queue: Queue) -> None:
    order_id = queue.works.typed()
    assert queue.works.runner().run("ord_that_was_served_before", "decode") is State.COMPLETED
    assert queue.works.orders.get(order_id).state is State.COMPLETED


def test_what_could_not_be_claimed_next_to_another_order_is_rung_for_after_it(queue: Queue) -> None:
    new = NewOrder("trap-cafe", 1, "en", transcript=speech(SAID), client="page:/6.6.6.6/v")
    first, second = (queue.works.orders.create(new)[0].id for _ in range(2))

    def meanwhile() -> None:
        queue.works.decoder.meanwhile = lambda: None
        assert queue.works.runner("worker-2").run(second, "decode") is None, "one in hand at an address"

    queue.works.decoder.meanwhile = meanwhile
    assert queue.works.runner().run(first, "decode") is not None
    assert (second, State.TRANSCRIBED, 0.0) in queue.works.bell.rung


def test_an_order_whose_menu_is_being_read_keeps_its_tries(queue: Queue) -> None:
    works = queue.works
    new = works.typed()
    asked: list[str] = []

    def decode(request: CartRequest, *_asked: object) -> Reading:
        asked.append(request.transcript)
        assert request.in_gaps
        if len(asked) < 10:
            raise MenuBeingRead("new", wait_s=0.0)
        return read_as(RIGHT)

    works.decoder.decode = decode  # type: ignore[method-assign]
    for _ in range(9):
        assert works.runner().run(new, "decode") is State.TRANSCRIBED
    order = works.orders.get(new)
    assert (order.attempt, order.lease_owner, works.types(new)) == (0, None, works.types(works.typed()))
    assert works.bell.rung == [(new, State.TRANSCRIBED, 0.0)] * 9
    assert works.runner().run(new, "decode") is State.COMPLETED


def test_of_many_orders_on_new_menus_one_is_tried_after_a_while_and_the_rest_wait(queue: Queue) -> None:
    def handed_back() -> OrderRecord:
        order = queue.take()
        assert order is not None
        queue.orders.hand_back(order, retry_in_s=0.0)
        return order

    queue.came(TILL, TILL, TILL)
    assert len({handed_back().id for _ in range(3)}) == 3
    queue.came(TILL, TILL, TILL, shop="other")
    assert queue.served(1) == [f"other:{TILL}"]
    with queue.database.write() as session:
        long_ago = queue.database.now(session) - timedelta(seconds=GAP_S)
        mine = OrderRow.shop_id == "main"
        session.execute(update(OrderRow).where(mine).values(next_attempt_at=long_ago))
    assert [queue.named[handed_back().id], *queue.served(2)] == [f"main:{TILL}", *[f"other:{TILL}"] * 2]


def test_who_has_new_menus_waits_with_all_orders_after_the_others(queue: Queue) -> None:
    queue.came(TILL)
    order = queue.take()
    assert order is not None
    queue.orders.hand_back(order, retry_in_s=0.0)
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
def test_the_seconds_of_a_minute_s_work_are_counted_by_shop_and_source(queue: Queue) -> None:
    queue.came(TILL, TILL, page("6.6.6.6"))
    queue.served(3, seconds={f"main:{TILL}": 2.0, "main:" + page("6.6.6.6"): 0.5})
    seconds = LoadStore(queue.database).load().seconds
    found = {source: round(used, 1) for (_, source), used in seconds.items()}
    assert found == pytest.approx({"": 4.5, TILL: 4.0, "page:/6.6.6.6": 0.5}, abs=0.3)


@pytest.mark.usefixtures("in_one_minute")
def test_an_address_that_had_its_seconds_waits_for_the_next_minute_though_no_other_does(queue: Queue) -> None:
    queue.came(page("6.6.6.6"), page("6.6.6.6"), page("7.7.7.7"))
    queue.served(2, seconds={"main:" + page("6.6.6.6"): PAGE_S})
    assert queue.take() is None
    with queue.database.everywhere().write() as session:
        session.execute(update(TurnRow).values(minute=TurnRow.minute - 1))
    assert queue.take() is not None


@pytest.mark.usefixtures("in_one_minute")
def test_the_reading_of_a_new_menu_is_no_customers_seconds_of_work(queue: Queue) -> None:
    queue.came(page("6.6.6.6"))
    order = queue.take()
    assert order is not None
    with queue.database.write() as session:
        since = queue.database.now(session) - timedelta(seconds=PAGE_S)
    queue.orders.hand_back(replace(order, claimed_at=since), retry_in_s=0.0)
    assert set(LoadStore(queue.database).load().seconds.values()) == {0.0}
    assert queue.take() is not None


def test_an_address_with_a_crowd_of_orders_comes_after_the_others_of_every_shop(queue: Queue) -> None:
    queue.came(*[page("6.6.6.6")] * (CROWD + 2))
    queue.came(page("7.7.7.7"), shop="other")
    queue.came(page("8.8.8.8"), page("8.8.8.8"))
    found = [one.split("/")[1] for one in queue.served(5)]
    assert sorted(found[:3]) == ["7.7.7.7", "8.8.8.8", "8.8.8.8"]
    assert found[3:] == ["6.6.6.6", "6.6.6.6"]


def test_a_crowd_of_recordings_that_is_not_yet_transcribed_counts(queue: Queue) -> None:
    for number in range(CROWD):
        new = NewOrder("trap-cafe", 1, "en", audio_key=f"{number}", client=page("6.6.6.6"))
        OrderStore(queue.database, "main").create(new)
    queue.came(page("6.6.6.6"), page("7.7.7.7"), page("8.8.8.8"))
    assert [one.split("/")[1] for one in queue.served(3)] == ["7.7.7.7", "8.8.8.8", "6.6.6.6"]
