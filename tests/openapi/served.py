"""An API process with orders in every state that clients see, and keys for it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx

from infra.processes.ports import any_free
from infra.processes.supervisor import Supervisor
from infra.redis.server import EmbeddedRedis
from infra.settings import REPOSITORY, Settings
from infra.sql.database import Database
from schemas.lifecycle import Event
from schemas.records.orders import Outcome
from schemas.review import ReviewReason
from schemas.shops.access import MAIN_SHOP, Scope
from services.cli.samples import load_menus
from services.decoding.wire_mask import PROBE_ANSWER
from services.storage.orders.store import OrderStore
from services.storage.shops.store import ShopStore
from services.workers.children import as_environment
from tests.credentials import UNLIMITED, Header, header_for
from tests.openapi import OTHER, SECRET
from tests.processes.parts import part
from tests.servers.staged_server import Answer, completion, is_probe, staged_server
from tests.stand_ins import TESTER

MENU = "harbor-coffee"
RECORDING = next((REPOSITORY / "infra/samples/recordings").glob("hc-*.flac"))
TICKET = '{"priority":"high","needs_human":true,"note":"nobody"}'


@dataclass(frozen=True)
class Served:
    """An API at `url`, with its log file, and keys by their scopes: `all`, `one` (to read orders), `none`."""

    url: str
    keys: dict[str, Header]
    log: Path
    supervisor: Supervisor
    pid: int | None

    def faults(self) -> list[str]:
        """Return what is wrong with the API: it exited, doesn't respond, or logged unexpected errors."""
        found = [] if self.supervisor.pid("api") == self.pid else ["the API died"]
        try:
            httpx.get(f"{self.url}/livez", timeout=5, trust_env=False).raise_for_status()
        except httpx.HTTPError as error:
            found.append(f"the API does not answer: {error!r}")
        logged = [line for line in self.log.read_text().splitlines() if "request.failed" in line]
        return found + logged[:5]


@contextmanager
def served(home: Path) -> Iterator[Served]:
    """Run Redis, a decode server with fixed answers, and `python -m services.api` on SQLite."""
    redis = EmbeddedRedis(home / "redis", any_free(), home / "redis.log")
    port = any_free()
    with staged_server(_answer) as decoder:
        config = Settings(
            home=home,
            api_port=port,
            redis_url=redis.url,
            llm_url=decoder.url,
            masked_tasks="tests.masked_tasks:TASKS",
            max_backlog=0,
            shop_backlog=0,
            client_backlog=0,
            **UNLIMITED,
        )
        database, supervisor = Database(config.database), Supervisor(home / "stack")
        try:
            database.migrate()
            keys = {
                "all": header_for(database),
                "one": header_for(database, Scope.ORDERS_READ),
                "none": Header(),
            }
            api = part("api", (sys.executable, "-m", "services.api"), home, as_environment(config))
            supervisor.start([redis.child("redis"), api])
            url = f"http://127.0.0.1:{port}"
            ShopStore(database).add(OTHER, SECRET, by=TESTER)
            for shop, key in (
                (MAIN_SHOP, keys["all"]),
                (OTHER, header_for(database, shop=OTHER, person="eve")),
            ):
                with httpx.Client(base_url=url, headers=key, trust_env=False, timeout=30) as http:
                    _filled(http, OrderStore(database, shop), "" if shop == MAIN_SHOP else SECRET)
            yield Served(url, keys, home / "api.log", supervisor, supervisor.pid("api"))
        finally:
            supervisor.stop()
            database.close()


def _answer(body: dict[str, Any]) -> Answer:
    """Return the decode server's answer to a masked task."""
    if is_probe(body):
        return completion(PROBE_ANSWER)
    return completion("yes" if '"maybe"' in body["grammar"] else TICKET)


def _filled(http: httpx.Client, orders: OrderStore, word: str) -> None:
    """Add menus and orders: waiting, in review, cancelled, and one with a recording; `word` is in each."""
    for menu_id, menu in load_menus().items():
        http.put(
            f"/v1/menus/{menu_id}", json=menu | {"name": f"{menu['name']} {word}".strip()}
        ).raise_for_status()
    files = {"audio": RECORDING.read_bytes()}
    http.post("/v1/orders", files=files, data={"menu": MENU}).raise_for_status()
    text = {"transcript": f"a latte {word}", "menu": MENU, "metadata": {"note": word}}
    made = [http.post("/v1/orders", json=text).raise_for_status().json()["id"] for _ in range(6)]
    http.post(f"/v1/orders/{made[0]}/cancel").raise_for_status()
    for order_id in made[1:4]:
        doubted = Outcome(Event.DOUBTED, reasons=(ReviewReason.NOT_ON_MENU,))
        orders.commit(orders.get(order_id), doubted)
