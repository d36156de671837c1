"""A running service for the clients: the real API over HTTP, with a scripted model."""

from __future__ import annotations

import re
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial

from infra.settings import REPOSITORY
from infra.webhooks import Poster
from schemas.cart import CartDraft
from schemas.menu import Menu
from schemas.shops.access import EVERY_SHOP
from services.cli.samples import load_menus
from services.storage.outbox.endpoints import EndpointStore
from services.storage.outbox.store import Outbox
from services.tills.orders.sending import in_till_form
from services.workers.courier import Courier, RetryPolicy
from tests.endpoints import till
from tests.integration.api_world import World
from tests.stand_ins import TESTER, Pipeline, ScriptedDecoder, ScriptedTranscriber, speech

MENU = "harbor-coffee"
TEXT = "a latte and a blueberry muffin"
ASKED = "Small, medium or large latte? ['small', 'medium', 'large']"
CART = CartDraft.model_validate({"lines": [
    {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1},
    {"kind": "item", "heard": "a blueberry muffin", "sku": "blueberry-muffin", "quantity": 1},
]})  # fmt: skip


@contextmanager
def at_work(world: World, port: int = 9, carts: Sequence[CartDraft] = (CART,)) -> Iterator[None]:
    """Run workers that transcribe `TEXT` and decode `carts` in turn, repeating the last one, and a courier
    for the till at `port`."""
    database, over = world.parts.database, threading.Event()
    hears, reads = ScriptedTranscriber([speech(TEXT)]), ScriptedDecoder([*carts])
    pipeline = Pipeline(database, world.parts.blobs, transcriber=hears, decoder=reads)
    pipeline.menus.put(Menu.parse(load_menus()[MENU]), by=TESTER)
    till(database, f"http://127.0.0.1:{port}/")

    def work() -> None:
        while not over.wait(0.05):
            for status in ("queued", "processing"):
                for order in pipeline.orders.page(status=status, cursor=None, limit=5)[0]:
                    pipeline.until_settled(order.id)

    with Poster() as poster:
        targets = EndpointStore(database, EVERY_SHOP, "private").target
        form, patience = partial(in_till_form, pipeline.menus), RetryPolicy(9, 0.2, 1)
        courier = Courier(Outbox(database), poster.post, targets, patience, form=form)
        threads = [threading.Thread(target=work), threading.Thread(target=courier.run, args=(over.wait,))]
        for thread in threads:
            thread.start()
        try:
            yield
        finally:
            over.set()
            for thread in threads:
                thread.join(20)


def key_of(world: World) -> str:
    """Return a key with all scopes."""
    return world.bearing("ada")["Authorization"].removeprefix("Bearer ")


def script(language: str, heading: str = "") -> str:
    """Return the first block of docs/first-order.md in this language, after a heading."""
    text = (REPOSITORY / "docs/first-order.md").read_text().partition(f"## {heading}")[2]
    return str(re.findall(rf"```{language}\n(.+?)```", text, re.DOTALL)[0])
