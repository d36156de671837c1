"""Measure whether honest customers are served during an attack: the last part of `make attack`.

    python -m tests.load.attacked [--attacks dear_texts nonsense ...] [--seconds 60] [--postgresql]

The default stack with its own engines. A till of each of two shops and a customer at an order page order
every `--every` seconds, first alone, then during each attack from another address or with another key. Each
order must be served within three times the p95 that its customer had alone.
"""

from __future__ import annotations

import argparse
import copy
import json
import socket
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import httpx

from infra.processes.ports import any_free
from infra.settings import Settings
from infra.sql.database import Database
from schemas import lifecycle
from schemas.errors import SaycartError
from schemas.menu import Menu
from schemas.shops.access import EVERY_SHOP, Scope
from services.cli.samples import load_menus
from services.learning.evaluation.figures import quantile
from services.storage.orders.store import OrderStore
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from services.workers.stack import Stack
from tests.credentials import header_for
from tests.load.orders import RECORDINGS, written
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import TESTER

SETTLED = {lifecycle.STATUS[state] for state in lifecycle.SETTLED}
HOME = "127.0.0.1"
MENU = "harbor-coffee"
WITHIN = 3.0
DEAR = "é漢😀\u0301" * 490
PATIENCE_S = 400.0


@dataclass
class Site:
    """A stack with two honest shops and an attacker's, whose address is `elsewhere`; `found` counts the
    responses to the attacker."""

    url: str
    keys: dict[str, dict[str, str]]
    orders: OrderStore
    elsewhere: str = ""
    stop: threading.Event = field(default_factory=threading.Event)
    found: Counter[str] = field(default_factory=Counter)

    def client(self, address: str, shop: str = "") -> httpx.Client:
        headers = {"Origin": self.url, **self.keys.get(shop, {})}
        over = httpx.HTTPTransport(local_address=address)
        return httpx.Client(base_url=self.url, transport=over, headers=headers, timeout=60)

    def keep_on(self, http: httpx.Client, ask: Callable[[int], httpx.Response]) -> None:
        """Repeat a request until the time is up."""
        number = 0
        while not self.stop.is_set():
            number += 1
            try:
                self.found[str(ask(number).status_code)] += 1
            except httpx.TransportError as error:
                self.found[type(error).__name__] += 1
            self.stop.wait(0.05)


def dear_texts(site: Site, http: httpx.Client) -> None:
    site.keep_on(http, lambda _: http.post("/orders", data={"transcript": DEAR, "menu": MENU}))


def nonsense(site: Site, http: httpx.Client) -> None:
    words = {"transcript": "a spaceship and something strange", "menu": MENU}
    site.keep_on(http, lambda _: http.post("/orders", data=words))


def new_menus(site: Site, http: httpx.Client) -> None:
    def bring(number: int) -> httpx.Response:
        menu = copy.deepcopy(load_menus()[MENU])
        menu["id"] = menu["name"] = name = f"new-{time.monotonic_ns()}"
        menu["items"] = menu["items"][number % 9 :]
        put = http.put(f"/v1/menus/{name}", json=menu, headers=site.keys["evil"])
        order = {"transcript": "a latte", "menu": name}
        return http.post("/v1/orders", json=order, headers=site.keys["evil"]) if put.is_success else put

    site.keep_on(http, bring)


def recordings(site: Site, http: httpx.Client) -> None:
    sound = (RECORDINGS / "hc-04.flac").read_bytes()
    behind = bytes(13_000_000), b""  # without garbage more of them are taken
    files = [{"audio": ("order.flac", sound + more, "audio/flac")} for more in behind]
    site.keep_on(http, lambda number: http.post("/orders", data={"menu": MENU}, files=files[number % 2]))


def unknown_keys(site: Site, http: httpx.Client) -> None:
    body = json.dumps({f"k{number}": 0 for number in range(1600)})  # the longest that is read
    headers = site.keys["evil"] | {"Content-Type": "application/json"}
    site.keep_on(http, lambda _: http.post("/v1/orders", content=body, headers=headers))


def long_paths(site: Site, http: httpx.Client) -> None:
    site.keep_on(http, lambda _: http.get("/" + "x" * 60_000))


def unread(site: Site, http: httpx.Client) -> None:
    """Repeatedly open ninety connections with forty requests each, and don't read the responses."""
    host, port = site.url.removeprefix("http://").split(":")
    asks = f"GET / HTTP/1.1\r\nHost: {host}:{port}\r\n\r\n".encode() * 40
    while not site.stop.is_set():
        with ExitStack() as crowd:
            for _ in range(90):
                with suppress(OSError):
                    line = socket.create_connection((host, int(port)), 5, (site.elsewhere, 0))
                    crowd.callback(line.close)
                    line.sendall(asks)
                    site.found["connections"] += 1
            site.stop.wait(5)


ATTACKS = (dear_texts, nonsense, new_menus, recordings, unknown_keys, long_paths, unread)
ATTACKERS = 4  # threads of one


def honest(site: Site, seconds: float, every_s: float) -> dict[str, list[float]]:
    """Return the seconds until each order of each customer was served, or `inf` if it never was."""
    texts = [row for row in written() if row["menu"] == MENU]
    took: dict[str, list[float]] = {"till": [], "other shop's till": [], "page": []}
    shops = {"till": "main", "other shop's till": "other", "page": "main"}

    def order(name: str, number: int) -> None:
        began, text = time.perf_counter(), texts[number % len(texts)]
        seconds = float("inf")
        with suppress(httpx.HTTPError), site.client(HOME, shops[name]) as http:
            if name == "page":
                with site.client(HOME) as browser:
                    made = browser.post("/orders", data=text)
                place = made.headers.get("location", "").rpartition("/")[2] if made.is_redirect else ""
            else:
                place = http.post("/v1/orders", json=text).raise_for_status().json()["id"]
            while place and time.perf_counter() - began < PATIENCE_S:
                shown = http.get(f"/v1/orders/{place}", params={"wait": 20}).json()
                if shown.get("status") in SETTLED:
                    seconds = time.perf_counter() - began
                    break
        took[name].append(round(seconds, 2))

    waiting, started = list[threading.Thread](), time.perf_counter()
    for number in range(int(seconds / every_s)):
        time.sleep(max(0.0, started + number * every_s - time.perf_counter()))
        for name in took:
            waiting.append(threading.Thread(target=order, args=(name, number)))
            waiting[-1].start()
    for one in waiting:
        one.join()
    return took


def attacked(site: Site, attack: Callable[[Site, httpx.Client], None], chosen: Any) -> dict[str, list[float]]:
    """As `honest`, during an attack."""
    site.stop.clear()
    site.found.clear()
    site.elsewhere = f"127.0.0.{10 + ATTACKS.index(attack)}"
    with ExitStack() as clients:
        crowd = [
            threading.Thread(target=attack, args=(site, clients.enter_context(site.client(site.elsewhere))))
            for _ in range(ATTACKERS)
        ]
        for one in crowd:
            one.start()
        try:
            return honest(site, chosen.seconds, chosen.every)
        finally:
            site.stop.set()
            for one in crowd:
                one.join()
            for order_id, _ in site.orders.due(limit=1000, idle_s=0):  # none is left for the next attack
                with suppress(SaycartError):
                    site.orders.cancel(order_id)


def running(home: Path, postgresql: bool, stop: ExitStack) -> Site:
    """Run the default stack with the shops' menu warm."""
    server = PostgreSQL() if postgresql else None
    if server:
        stop.callback(server.stop)
    config = Settings(
        home=home, api_port=any_free(), database_url=server.create("attacked") if server else ""
    )
    menu = Menu.parse(load_menus()[MENU])
    stack = stop.enter_context(Stack(config, menus=[menu]))
    database = Database(config.database)
    keys = {"main": header_for(database)}
    for shop in ("other", "evil"):
        ShopStore(database).add(shop, shop, by=TESTER)
        scopes = (Scope.ORDERS_WRITE, Scope.ORDERS_READ, Scope.MENUS_WRITE)
        keys[shop] = header_for(database, *scopes, person=None, shop=shop)
    MenuStore(database, "other").put(menu, by=TESTER)
    stop.callback(database.close)
    return Site(stack.base_url, keys, OrderStore(database, EVERY_SHOP))


def main() -> None:
    names = [attack.__name__ for attack in ATTACKS]
    parser = argparse.ArgumentParser(prog="make attack")
    parser.add_argument("--attacks", nargs="+", choices=names, default=names)
    parser.add_argument("--seconds", type=float, default=60)
    parser.add_argument("--every", type=float, default=5)
    parser.add_argument("--postgresql", action="store_true")
    chosen = parser.parse_args()
    kept = True
    with tempfile.TemporaryDirectory(prefix="saycart-attacked-") as folder, ExitStack() as stop:
        site = running(Path(folder), chosen.postgresql, stop)
        honest(site, 4 * chosen.every, chosen.every)  # caches, connections
        quiet = _shown(honest(site, chosen.seconds, chosen.every))
        print("quiet", json.dumps(quiet), flush=True)
        for attack in (one for one in ATTACKS if one.__name__ in chosen.attacks):
            times = _shown(attacked(site, attack, chosen))
            late = {name: one["max"] > WITHIN * quiet[name]["p95"] for name, one in times.items()}
            kept = kept and not any(late.values())
            one = {"attacker": dict(site.found), "honest": times, "late": [n for n in late if late[n]]}
            print(attack.__name__, json.dumps(one), flush=True)
    sys.exit(0 if kept else 1)


def _shown(took: dict[str, list[float]]) -> dict[str, dict[str, float]]:
    return {
        name: {"orders": len(all_), "p50": quantile(all_, 0.5), "p95": quantile(all_, 0.95), "max": max(all_)}
        for name, all_ in took.items()
    }


if __name__ == "__main__":
    main()
