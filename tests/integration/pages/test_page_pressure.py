"""Floods of orders from pages, and who can still order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx
from sqlalchemy import delete, update

from schemas.lifecycle import Event, State
from schemas.records.orders import Outcome
from schemas.review import ReviewReason
from schemas.shops.audit import Actor
from services.bootstrap import bootstrap
from services.storage.base.tables import TurnRow
from services.storage.orders.store import OrderStore
from tests.integration.api_world import MENU, World, running
from tests.stand_ins import claim_order
from tests.waiting import until

SENTENCE = {"transcript": "a large latte", "menu": MENU["id"]}
BY = Actor("tests")


@contextmanager
def visitor(world: World, address: str) -> Iterator[httpx.Client]:
    """A browser on the order page at this address."""
    with world.browser(address) as client:
        assert client.get("/").status_code == 200
        yield client


def place(client: httpx.Client) -> int:
    return client.post("/orders", data=SENTENCE).status_code


def flood(world: World, address: str, orders: int) -> list[int]:
    """Anonymous orders without cookies, so that each looks like a new browser."""
    with world.browser(address) as client:
        answers = []
        for _ in range(orders):
            answers.append(place(client))
            client.cookies.clear()
        return answers


def test_a_flood_blocks_only_its_own_address(tmp_path: Path) -> None:
    with running(tmp_path) as world:
        answers = flood(world, "127.0.0.9", 100)
        assert answers == [303] * 30 + [429] * 70
        for address in ("127.0.0.1", "127.0.0.2", "127.0.0.3"):
            with visitor(world, address) as honest:
                assert place(honest) == 303
        assert world.http.post("/v1/orders", json=SENTENCE).status_code == 202


def test_a_page_key_has_its_own_backlog(tmp_path: Path) -> None:
    with running(tmp_path, address_backlog=6) as world, visitor(world, "127.0.0.1") as kiosk:
        key = world.parts.keys.add_page("main", "kiosk", by=BY)
        assert kiosk.get(f"/at/{key.id}").status_code == 303
        assert flood(world, "127.0.0.1", 8) == [303] * 6 + [429] * 2
        assert [place(kiosk) for _ in range(4)] == [303] * 3 + [429], "half of it is one browser's"


def test_an_address_over_its_seconds_waits_a_minute(tmp_path: Path, database_url: str) -> None:
    with running(tmp_path, database_url, model_seconds_per_minute=24) as world:
        assert bootstrap(world.parts.settings).orders._page_s == 3.0, (
            "those that wait are held back by the same setting"
        )
        assert flood(world, "127.0.0.9", 1) == [303]
        orders = OrderStore(world.parts.database, "main")
        assert orders.claim_next(State.TRANSCRIBED, owner="h:1:1", lease_s=60) is not None
        with world.parts.database.everywhere().write() as session:  # as if the worker had put it down
            session.execute(update(TurnRow).where(TurnRow.source != "").values(used=3.0))
        until(lambda: flood(world, "127.0.0.9", 1) == [429])
        assert flood(world, "127.0.0.10", 1) == [303]
        assert world.http.post("/v1/orders", json=SENTENCE).status_code == 202


def test_pages_get_half_of_a_shops_seconds(tmp_path: Path) -> None:
    with running(tmp_path, model_seconds_per_minute=24) as world:

        def worked(shop: float, *pages: float) -> None:
            used = {"": shop} | {f"page:/10.0.0.{number}": seconds for number, seconds in enumerate(pages)}
            with world.parts.database.everywhere().write() as session:
                session.execute(delete(TurnRow))
                at = world.parts.database.now(session)
                clock = {"shop_id": "main", "begun": 0.0, "spent": 0.0, "at": at, "minute": 0}
                session.add_all(TurnRow(**clock, source=source, used=used[source]) for source in used)

        def till() -> int:
            return world.http.post("/v1/orders", json=SENTENCE).status_code

        worked(20, 10, 10)
        assert (flood(world, "127.0.0.9", 1), till()) == ([303], 202)
        worked(26, 13, 13)
        until(lambda: flood(world, "127.0.0.9", 1) == [429])
        assert till() == 202
        worked(80, 25, 25)
        until(lambda: till() == 429)
        worked(60, 25, 25)
        until(lambda: till() == 202)


def test_pages_leave_part_of_the_backlog_to_keys(tmp_path: Path) -> None:
    """From however many addresses: the tills go on, and pages of other shops."""
    with running(tmp_path, shop_backlog=24, address_backlog=3) as world:
        answers = [place for number in range(2, 9) for place in flood(world, f"127.0.0.{number}", 4)]
        assert answers.count(303) == 12
        with visitor(world, "127.0.0.1") as late:
            assert place(late) == 429
            world.parts.shops.add("other", "The other shop", by=BY)
            world.parts.menus.of("other").put(world.parts.menus.get(MENU["id"]).menu, by=BY)
            late.get(f"/at/{world.parts.keys.add_page('other', 'kiosk', by=BY).id}")
            assert place(late) == 303
        tills = [world.http.post("/v1/orders", json=SENTENCE).status_code for _ in range(13)]
        assert tills == [202] * 12 + [429]


def test_an_address_with_open_reviews_must_wait(tmp_path: Path, database_url: str) -> None:
    """Nonsense by the hundred fills no queue; others at pages, and tills, go on."""
    with running(tmp_path, database_url, address_backlog=2) as world:
        assert flood(world, "127.0.0.9", 2) == [303] * 2
        orders = OrderStore(world.parts.database, "main")
        for found in orders.page(status=None, cursor=None, limit=9)[0]:
            held = claim_order(orders, found.id, found.state, owner="h:1:1", lease_s=60)
            assert held is not None
            orders.commit(held, Outcome(Event.DOUBTED, reasons=(ReviewReason.BLOCKING_FINDING,)))
        until(lambda: flood(world, "127.0.0.9", 1) == [429])
        with visitor(world, "127.0.0.1") as honest:
            assert place(honest) == 303
        assert world.http.post("/v1/orders", json=SENTENCE).status_code == 202
        orders.cancel(held.id)
        until(lambda: flood(world, "127.0.0.9", 1) == [303])
