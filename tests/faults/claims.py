"""Scenarios in which many want the same thing at once: repeated messages, claims, idempotency keys."""

from __future__ import annotations

import threading
from collections import Counter
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import get_context
from multiprocessing.synchronize import Barrier
from typing import Any

import httpx

from infra.sql.database import Database
from schemas.lifecycle import State
from schemas.transcript import Transcript
from services.storage.base.records import NewOrder
from services.storage.orders.store import OrderStore
from services.storage.shops.menus import MenuStore
from tests.faults.bench import Bench
from tests.faults.ledger import Entry, Ledger
from tests.stand_ins import CAFE, SAID, TESTER

CLAIM_PROCESSES, CLAIM_THREADS = 5, 10
POSTS_AT_ONCE = 20
_gate: Barrier


def tripled(bench: Bench) -> dict[str, Any]:
    """Every doorbell rings three times: API's, workers' and sweepers'."""
    orders = bench.size(500, 30)
    with bench.works(rings=3) as works:
        ledger = Ledger(works.url, works.headers)
        ledger.start(range(1, orders + 1))
        ledger.join()
        return bench.verdict(works, ledger)


def claims(bench: Bench) -> dict[str, Any]:
    """50 claims at once on one order, from 5 processes of 10 threads; how many won each."""
    orders = bench.size(100, 10)
    url = bench.url() or f"sqlite:///{bench.folder / 'claims.db'}"
    database = Database(url)
    database.migrate()
    MenuStore(database, "main").put(CAFE, by=TESTER)
    store = OrderStore(database, "main")
    said = Transcript(text=SAID, confidence=1.0)
    ids = [store.create(NewOrder(CAFE.id, 1, "en", transcript=said))[0].id for _ in range(orders)]
    spawned = get_context("spawn")
    gate = spawned.Barrier(CLAIM_PROCESSES * CLAIM_THREADS)
    with ProcessPoolExecutor(
        CLAIM_PROCESSES, mp_context=spawned, initializer=_meet_at, initargs=(gate,)
    ) as pool:
        parts = list(pool.map(_claim_all, [url] * CLAIM_PROCESSES, [ids] * CLAIM_PROCESSES))
    winners: Counter[str] = sum(parts, Counter())
    database.close()
    return {
        "orders": orders,
        "claims": orders * CLAIM_PROCESSES * CLAIM_THREADS,
        "won by exactly one": sum(winners[order_id] == 1 for order_id in ids),
        "lost": sum(winners[order_id] == 0 for order_id in ids),
        "doubled": sum(winners[order_id] > 1 for order_id in ids),
    }


def keys(bench: Bench) -> dict[str, Any]:
    """Twenty requests at once under one Idempotency-Key, for each of many keys."""
    many = bench.size(1000, 15)
    with bench.works(workers=2, settings={"max_backlog": 0, "client_backlog": 0, "shop_backlog": 0}) as works:
        ledger = Ledger(works.url, works.headers)
        ledger.entries = [Entry(number, f"order-{number}") for number in range(1, many + 1)]
        barrier = threading.Barrier(POSTS_AT_ONCE)

        def one_of_twenty(_: int) -> None:
            with httpx.Client(
                base_url=works.url, headers=works.headers, timeout=30.0, trust_env=False
            ) as client:
                for entry in ledger.entries:
                    barrier.wait()
                    ledger.post(client, entry)

        with ThreadPoolExecutor(POSTS_AT_ONCE) as pool:
            list(pool.map(one_of_twenty, range(POSTS_AT_ONCE)))
        found = bench.verdict(works, ledger)
        return {"keys": many, "posts": many * POSTS_AT_ONCE, **found}


def _meet_at(gate: Barrier) -> None:
    global _gate
    _gate = gate


def _claim_all(url: str, ids: list[str]) -> Counter[str]:
    """In a process of its own: ten threads claim each order, all fifty of all processes at once."""
    database = Database(url)
    store = OrderStore(database, "main")

    def claim(number: int) -> list[str]:
        won = []
        for order_id in ids:
            _gate.wait(60)
            if store.claim(order_id, State.TRANSCRIBED, owner=f"claimant-{number}", lease_s=600):
                won.append(order_id)
        return won

    with ThreadPoolExecutor(CLAIM_THREADS) as pool:
        won = Counter(order_id for part in pool.map(claim, range(CLAIM_THREADS)) for order_id in part)
    database.close()
    return won
