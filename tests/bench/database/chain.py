"""A chain of many shops: what its menus take in the database and in a process, and how long they take.

    python -m tests.bench.database.chain [--shops 500] [--versions 4]
                                          [--databases sqlite postgresql] [--out FILE]

The chain imports the sample coffee menu `versions` times, and each shop sets a price of its own after the
first. After each import every shop asks for its menu and reads one sentence against it, as its next order
would.
"""

from __future__ import annotations

import argparse
import json
import platform
import resource
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from sqlalchemy import String, cast, func, select

from infra.sql.database import Database
from schemas.menu import Menu
from services.evaluation.statistics import quantile
from services.reading.names import lexicons
from services.reading.order import read_order
from services.storage.base.tables import MenuRow
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from tests.servers.postgresql import PostgreSQL
from tests.stand_ins import TESTER, sample_menu

OUT = Path("docs/benchmarks/chain.json")
SAID = "two large oat lattes and a blueberry muffin"


def measure(url: str, shops: int, versions: int) -> dict[str, Any]:
    """Fill an empty database as a chain would, and time what its shops do."""
    database = Database(url).everywhere()
    database.migrate()
    chain = ShopStore(database)
    chain.add("chain", "Chain", by=TESTER)
    names = [f"shop-{number}" for number in range(shops)]
    for name in names:
        chain.add(name, name, by=TESTER, menus_of="chain")
    menus, before = MenuStore(database, "chain"), _megabytes()
    taken: dict[str, list[float]] = {name: [] for name in ("import", "first_asked", "asked_again", "read")}
    for version in range(versions):
        menu = _priced(sample_menu("harbor-coffee"), 0, version)
        _timed(taken["import"], lambda menu=menu: menus.put(menu, by=TESTER))
        for number, name in enumerate(names):
            store = menus.of(name)
            found = _timed(taken["first_asked"], lambda store=store, menu=menu: store.get(menu.id))
            if version == 0:
                store.put(_priced(found.menu, 1, number), by=TESTER)
            found = _timed(taken["asked_again"], lambda store=store, menu=menu: store.get(menu.id))
            _timed(taken["read"], lambda found=found: read_order(SAID, found.menu, found.version))
            price = found.menu.items[1]
            assert number in (price.price, *(price.prices or {}).values()), "the shop's own price is gone"
    with database.read() as session:
        length = func.length(cast(MenuRow.document, String))
        rows, size = session.execute(select(func.count(), func.sum(length)).select_from(MenuRow)).one()
        whole = session.scalar(select(func.max(length)))
    database.close()
    return {
        "shops": shops,
        "menu_versions": rows,
        "documents_mb": round(size / 1e6, 2),
        "whole_documents_would_be_mb": round(rows * whole / 1e6, 1),
        "process_grew_mb": round(_megabytes() - before, 1),
        "versions_remembered": len(menus._versions._known),
        "lexicons": len(lexicons._LEXICONS._made),
        "ms": {
            name: {"p50": round(quantile(times, 0.5), 2), "p95": round(quantile(times, 0.95), 2)}
            for name, times in taken.items()
        },
    }


def _priced(menu: Menu, which: int, price: int) -> Menu:
    item = menu.items[which]
    prices = item.prices and dict.fromkeys(item.prices, price)
    changed = item.model_copy(update={"prices": prices} if prices else {"price": price})
    return menu.model_copy(update={"items": (*menu.items[:which], changed, *menu.items[which + 1 :])})


def _timed(times: list[float], call: Callable[[], Any]) -> Any:
    started = time.perf_counter()
    result = call()
    times.append(1000 * (time.perf_counter() - started))
    return result


def _megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--shops", type=int, default=500)
    parser.add_argument("--versions", type=int, default=4)
    parser.add_argument("--databases", nargs="+", default=["sqlite", "postgresql"])
    parser.add_argument("--out", type=Path, default=OUT)
    chosen = parser.parse_args()
    found: dict[str, Any] = {"machine": f"{platform.machine()}, Python {platform.python_version()}"}
    for kind in chosen.databases:
        if kind == "sqlite":
            with tempfile.TemporaryDirectory() as folder:
                found[kind] = measure(f"sqlite:///{folder}/chain.db", chosen.shops, chosen.versions)
        else:
            server = PostgreSQL()
            try:
                found[kind] = measure(server.create("chain"), chosen.shops, chosen.versions)
            finally:
                server.stop()
        print(kind, json.dumps(found[kind], indent=1), flush=True)
    chosen.out.write_text(json.dumps(found, indent=1) + "\n")


if __name__ == "__main__":
    main()
