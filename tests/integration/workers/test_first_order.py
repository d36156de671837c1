"""The script of docs/first-order.md, as it stands there: ordered, asked, confirmed, told to the till."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from infra.blobs.folder import BlobFolder
from infra.processes.ports import any_free
from infra.settings import REPOSITORY
from infra.webhooks import Poster
from schemas.cart import CartDraft
from schemas.menu import Menu
from schemas.shops.access import EVERY_SHOP
from services.cli.samples import load_menus
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.workers.courier import Courier, Patience
from tests.endpoints import SECRET, till
from tests.integration import api_world
from tests.integration.api_world import World
from tests.stand_ins import TESTER, ScriptedDecoder, Works

lone_world = api_world.lone_world
CART = CartDraft.model_validate({"lines": [
    {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1},
    {"kind": "item", "heard": "a blueberry muffin", "sku": "blueberry-muffin", "quantity": 1},
]})  # fmt: skip


def script() -> str:
    [found] = re.findall(r"```python\n(.+?)```", (REPOSITORY / "docs/first-order.md").read_text(), re.DOTALL)
    return str(found)


@contextmanager
def at_work(world: World, folder: Path, port: int) -> Iterator[None]:
    """Workers whose model reads `CART`, and a courier that knows the till at `port`."""
    database, over = world.parts.database, threading.Event()
    works = Works(database, BlobFolder(folder), decoder=ScriptedDecoder([CART]))
    works.menus.put(Menu.parse(load_menus()["harbor-coffee"]), by=TESTER)
    till(database, f"http://127.0.0.1:{port}/")

    def work() -> None:
        while not over.wait(0.05):
            for order in works.orders.page(status="processing", cursor=None, limit=5)[0]:
                works.until_settled(order.id)

    with Poster() as poster:
        targets = EndpointStore(database, EVERY_SHOP, "private").target
        courier = Courier(Outbox(database), poster.post, targets, Patience(9, 0.2, 1), owner="courier")
        threads = [threading.Thread(target=work), threading.Thread(target=courier.run, args=(over.wait,))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(20)


def test_the_first_order_of_the_documents_comes_to_its_till(lone_world: World, tmp_path: Path) -> None:
    assert len(script().splitlines()) <= 40
    _, _, key = lone_world.bearing("ada")["Authorization"].partition(" ")
    port = any_free()
    there = {"SAYCART": lone_world.url, "KEY": key, "SECRET": SECRET, "PORT": str(port)}
    with at_work(lone_world, tmp_path, port):
        done = subprocess.run(
            [sys.executable, "-c", script()],
            env=os.environ | there | {"NO_PROXY": "*"},
            capture_output=True,
            text=True,
            timeout=60,
        )
    assert done.returncode == 0, done.stderr
    asked, told = done.stdout.splitlines()
    assert asked == "Small, medium or large latte? ['small', 'medium', 'large']"
    messages = "order.asks order.needs_confirmation order.completed"
    assert told == f"{messages} [('small', 'latte'), (None, 'blueberry muffin')] 820"
    [order], _ = lone_world.parts.orders.page(status="completed", cursor=None, limit=2)
    assert order.taken_at is not None
