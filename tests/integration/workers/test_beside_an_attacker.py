"""Honest orders during an attack wait for few turns of the only decode worker.

The short form of `tests/load/attacked.py`. A turn is one order, or one part of a new menu's prefill.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest

from infra.blobs.folder import BlobFolder
from infra.settings import Settings
from infra.sql.database import Database
from schemas.errors import MenuBeingRead
from schemas.records.orders import NewOrder
from schemas.review import ReviewReason
from services.pipeline.flow import BY_NAME
from services.storage.orders.store import OrderStore
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from tests.credentials import UNLIMITED
from tests.integration.api_world import running
from tests.load.attacked import ATTACKERS, DEAR, Site, long_paths, unknown_keys, unread
from tests.servers.staged_server import Answer, StagedServer, model, spelled, staged_server
from tests.stand_ins import CAFE, RIGHT, SAID, TESTER, Pipeline, speech
from tests.waiting import until

Attack = Callable[[Site, httpx.Client], None]
TILL, CUSTOMER = "till", "page:/7.7.7.7/v"
NONSENSE = "a spaceship and something strange"
PIECES = 15
"""Of a new menu."""


@pytest.fixture
def server() -> Iterator[StagedServer]:
    write = model(spelled(RIGHT, CAFE))

    def answer(body: dict[str, Any]) -> Answer:
        if "content" in body:
            return 200, json.dumps({"tokens": [0] * (len(body["content"].encode()) // 3)}).encode()
        return write(body)

    with staged_server(answer) as staged:
        yield staged


class Stack:
    """Two shops and one decode worker, which runs as long as there is work."""

    def __init__(self, database: Database, folder: Path, server: StagedServer) -> None:
        self.pipeline = Pipeline(database, BlobFolder(folder))
        ShopStore(database).add("other", "Other", by=TESTER)
        MenuStore(database, "other").put(CAFE, by=TESTER)
        self.database = database
        most = Settings.model_fields["order_tokens"].default
        self.pipeline.decoder = server.decoder(order_tokens=most)  # type: ignore[assignment]
        self.runner = replace(self.pipeline.runner(), orders=OrderStore(database, "*"))

    def post(self, client: str, text: str = SAID, *, shop: str = "main", menu: str = CAFE.id) -> str:
        """Order with `text`, or with a recording if it is empty."""
        if text:
            new = NewOrder(menu, 1, "en", transcript=speech(text), client=client)
        else:
            key = self.pipeline.stored()
            new = NewOrder(menu, 1, "en", audio_key=key, audio_format="wav", client=client)
        return OrderStore(self.database, shop).create(new)[0].id

    def turns(self, text: str = SAID) -> Counter[str]:
        """Return the number of turns until each honest customer's order has passed its first stage."""
        orders = {
            "till": self.post(TILL, text),
            "customer": self.post(CUSTOMER, text),
            "other shop": self.post(TILL, text, shop="other"),
        }
        stage = "decode" if text else "transcribe"
        took, turn = Counter[str](), 0
        while len(took) < len(orders):
            turn += 1
            assert self.runner.run("", stage) is not None, "no order is served any more"
            for name, order_id in orders.items():
                if name not in took and self.runner.orders.get(order_id).state is not BY_NAME[stage].state:
                    took[name] = turn
        return took


@pytest.fixture
def stack(database: Database, tmp_path: Path, server: StagedServer) -> Stack:
    return Stack(database, tmp_path / "blobs", server)


def test_expensive_texts_reach_no_model(stack: Stack, server: StagedServer) -> None:
    dear = [stack.post(f"page:/6.6.6.6/{number}", DEAR) for number in range(30)]
    assert max(stack.turns().values()) <= 4
    while stack.runner.run("", "decode") is not None:
        pass
    assert len([body for body in server.bodies if "messages" in body]) == 3
    assert all(stack.runner.orders.get(order).reasons == (ReviewReason.TOO_MUCH_TO_READ,) for order in dear)


@pytest.mark.parametrize(("text", "honest"), [(NONSENSE, SAID), ("", "")], ids=["nonsense", "recordings"])
def test_a_crowd_from_one_address_comes_after_the_others(stack: Stack, text: str, honest: str) -> None:
    for number in range(30):
        stack.post(f"page:/6.6.6.6/{number}", text)
    assert max(stack.turns(honest).values()) <= 4


@pytest.mark.parametrize("attack", [unknown_keys, long_paths, unread])
def test_honest_orders_are_next(tmp_path: Path, attack: Attack) -> None:
    limits = {name: Settings.model_fields[name].default for name in UNLIMITED}
    with running(tmp_path, **limits) as world, ThreadPoolExecutor() as crowd:
        site = Site(world.url, {"evil": world.bearing("eve")}, world.parts.orders, "127.0.0.66")
        http = site.client(site.elsewhere)
        attackers = [crowd.submit(attack, site, http) for _ in range(ATTACKERS)]
        try:
            until(lambda: site.found.total() > ATTACKERS)
            for _ in range(20):
                began = time.monotonic()
                world.text()
                assert time.monotonic() - began < 5
            assert not any(one.done() for one in attackers)
        finally:
            site.stop.set()


def test_new_menus_delay_only_their_own_orders(stack: Stack, monkeypatch: pytest.MonkeyPatch) -> None:
    left = Counter[str]()
    for number in range(4):
        menu = CAFE.model_copy(update={"id": f"new-{number}"})
        MenuStore(stack.database, "main").put(menu, by=TESTER)
        left[menu.id] = PIECES
        stack.post("leaked-key", menu=menu.id)
    decode = stack.pipeline.decoder.decode

    def in_pieces(request: Any, *asked: Any, **how: Any) -> Any:
        if left[request.menu.id]:
            left[request.menu.id] -= 1
            raise MenuBeingRead("new", wait_s=0.0)
        return decode(request, *asked, **how)

    monkeypatch.setattr(stack.pipeline.decoder, "decode", in_pieces)
    stack.runner.run("", "decode")
    took = stack.turns()
    assert took["other shop"] <= 2
    assert took["till"] <= 3
    while stack.runner.run("", "decode") is not None:
        pass
    assert not left.total(), "the new menus are read all the same"
