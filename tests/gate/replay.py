"""Replay recorded orders with engine answers from the tape."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

from tests.gate.engines import shipped, taped_tools
from tests.gate.rows import Row, outcome, run
from tests.gate.sets import GateSet, Order
from tests.gate.store import DATA, recorded
from tests.gate.tape import Tape

BATCH = 40


@dataclass(slots=True)
class Comparison:
    """A set's baseline rows paired with today's.

    `new` counts orders without a baseline, `gone` baselines without an order, `missing` orders with a request
    that had no answer.
    """

    name: str
    sealed: bool
    pairs: list[tuple[Row, Row]] = field(default_factory=list)
    new: int = 0
    gone: int = 0
    missing: int = 0


def compare_all(
    sets: list[GateSet], people: Path | None, *, jobs: int = 2, data: Path = DATA
) -> Iterator[Comparison]:
    """Replay each set that has a recording and orders."""
    with ProcessPoolExecutor(jobs) as pool:
        running = []
        for one in sets:
            baseline, orders = recorded(one.name, data)[1], one.orders(people)
            if not baseline or not orders:
                continue
            known = [order for order in orders if order.id in baseline]
            compared = Comparison(
                one.name, one.sealed, new=len(orders) - len(known), gone=len(baseline) - len(known)
            )
            parts = [
                pool.submit(_part, one, known[at : at + BATCH], data) for at in range(0, len(known), BATCH)
            ]
            running.append((compared, baseline, parts))
        for compared, baseline, parts in running:
            for part in parts:
                for row, missing in part.result():
                    compared.pairs.append((baseline[row.id], row))
                    compared.missing += missing
            yield compared


def _part(one: GateSet, orders: list[Order], data: Path) -> list[tuple[Row, bool]]:
    tape, rows = _tape(one.name, data), []
    recordings = Path("recordings") if one.spoken else None  # need not exist: it is only a name
    for order in orders:
        tape.missing = 0
        prediction = run(order, taped_tools(shipped(), tape), recordings)
        rows.append((outcome(order, prediction), tape.missing > 0))
    return rows


@lru_cache(maxsize=2)
def _tape(name: str, data: Path) -> Tape:
    return recorded(name, data)[0]
