"""Finished orders by the million, as rows in bulk: with their history, codes, reviews and messages.

Of a hundred orders 80 were accepted, 15 settled by a reviewer (six as proposed, six corrected, three
refused), 3 cancelled, and 2 failed after two retries. They came evenly over the last 30 days, until a minute
ago; the courier forgets what it delivered more than 7 days ago. Documents are those of one order of `CAFE`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from itertools import islice
from typing import Any

import psycopg

from infra.sql.database import Database
from schemas.cart import CartDraft
from services.checks.price import price_cart
from services.storage.base.mapping import document_of
from tests.stand_ins import CAFE, RIGHT, SAID, speech

DAYS = 30
TOLD_DAYS = 7
CHUNK = 20_000
HUNDRED = "a" * 80 + "p" * 6 + "c" * 6 + "r" * 3 + "x" * 3 + "f" * 2
MADE = ["received", "transcribed", "read", "decoded"]
# Of each end: state, events, and codes by the place of their event.
ENDS: dict[str, tuple[str, list[str], dict[int, list[tuple[str, str]]]]] = {
    "a": ("completed", [*MADE, "accepted"], {}),
    "p": ("completed", [*MADE, "doubted", "approved"], {4: [("reason", "low_confidence")]}),
    "c": ("completed", [*MADE, "doubted", "approved"], {4: [("finding", "empty_cart")]}),
    "r": ("rejected", [*MADE, "doubted", "refused"], {4: [("reason", "not_on_menu")]}),
    "x": ("cancelled", ["received", "transcribed", "cancelled"], {}),
    "f": (
        "failed",
        ["received", "transcribed", "retry", "retry", "broke"],
        {at: [("failure", "engine_unavailable")] for at in (2, 3, 4)},
    ),
}  # fmt: skip
DECIDED = {"p": "approve", "c": "correct", "r": "reject"}
COLUMNS = {
    "orders": "id state version menu_id menu_version language transcript draft cart findings reasons timings "
    "engine attempt created_at updated_at client confirm",
    "order_events": "order_id seq at type state detail stage attempt worker",
    "order_codes": "order_id seq kind code",
    "reviews": "id order_id status reasons version claimed_by decision decided_by decided_at proposed "
    "created_at",
    "review_records": "id review_id at actor action before after detail",
    "outbox": "id order_id seq type payload version attempt created_at delivered_at",
}
Row = tuple[str, tuple[Any, ...]]


def fill(database: Database, orders: int) -> dict[str, int]:
    """Add so many finished orders to SQLite; how many rows each table got. PostgreSQL's are `copies.py`'s."""
    with database.read() as session:
        until = database.now(session) - timedelta(minutes=1)
    added = dict.fromkeys(COLUMNS, 0)
    rows = made(orders, until, zone="")
    with database.write() as session:
        connection: Any = session.connection().connection.driver_connection
        while chunk := list(islice(rows, CHUNK)):
            for table in COLUMNS:
                found = [row for name, row in chunk if name == table]
                added[table] += len(found)
                _into_sqlite(connection, table, found)
    return added


def made(orders: int, until: datetime, zone: str, days: float = DAYS) -> Iterator[Row]:
    """The rows of all tables, in the order in which they may be stored; the orders came over so many days."""
    heard = speech(SAID)
    proposed = price_cart(RIGHT, CAFE, 1, heard, [])
    transcript, draft, cart = (json.dumps(document_of(one)) for one in (heard, RIGHT, proposed))
    corrected = [json.dumps(document_of(price_cart(one, CAFE, 1, heard, []))) for one in _corrections()]
    message = json.dumps({"type": "order.completed", "data": {"cart": document_of(proposed)}})
    step = timedelta(days=days) / orders

    def stamp(moment: datetime) -> str:
        return moment.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S.%f") + zone

    for number in range(orders):
        # 37 is prime to 100: of any hundred in a row each end has its share.
        end = HUNDRED[number * 37 % 100]
        state, events, codes = ENDS[end]
        came = until - step * (orders - number)
        order = f"ord_{number:026d}"
        reviewed = end in DECIDED
        done = min(came + timedelta(seconds=12 + (number % 1700 if reviewed else 0)), until)
        last = {"failed": None, "cancelled": None}.get(state, cart)
        times = [stamp(came + timedelta(seconds=place)) for place in range(len(events) - 1)] + [stamp(done)]
        made_of = (transcript, draft, last, "[]", "[]", '{"decode": 3.5}', '{"decoder": "stand-in"}')
        head = (order, state, len(events), CAFE.id, 1, "en")
        yield "orders", (*head, *made_of, 0, times[0], times[-1], "10.0.0.1", False)
        for seq, (kind, at) in enumerate(zip(events, times, strict=True), 1):
            after = state if seq == len(events) else kind
            yield "order_events", (order, seq, at, kind, after, "{}", "decode", 1, "worker-1")
            for about, code in codes.get(seq - 1, ()):
                yield "order_codes", (order, seq, about, code)
        if reviewed:
            yield from _review(
                number, end, order, (came, done), cart, corrected[number % len(corrected)], stamp
            )
        if state == "completed" and done > until - timedelta(days=TOLD_DAYS):
            sent = (f"msg_{number:026d}", order, len(events), "order.completed", message, 2, 1)
            yield "outbox", (*sent, times[-1], times[-1])


def _review(
    number: int,
    end: str,
    order: str,
    moments: tuple[datetime, datetime],
    before: str,
    corrected: str,
    stamp: Callable[[datetime], str],
) -> Iterator[Row]:
    review, action, who = f"rev_{number:026d}", DECIDED[end], f"staff-{number % 9}"
    opened, done = stamp(moments[0] + timedelta(seconds=4)), stamp(moments[1])
    taken = stamp(moments[1] - timedelta(seconds=5 + number % 60))
    yield (
        "reviews",
        (review, order, "decided", '["low_confidence"]', 3, who, action, who, done, before, opened),
    )
    yield "review_records", (f"act_{number:025d}a", review, taken, who, "claimed", None, None, "{}")
    after = {"p": before, "c": corrected, "r": None}[end]
    detail = json.dumps({"action": action})
    yield "review_records", (f"act_{number:025d}b", review, done, who, "decided", before, after, detail)


def _corrections() -> Iterator[CartDraft]:
    """What staff may have made of the proposal."""
    latte, muffin = RIGHT.model_dump(mode="json")["lines"]
    yield CartDraft.model_validate({"lines": [latte]})
    for change in (
        {"size": "M"},
        {"quantity": 2},
        {"options": []},
        {"options": [{"group": "milk", "id": "soy"}]},
    ):
        yield CartDraft.model_validate({"lines": [latte | change, muffin]})


def _into_sqlite(connection: Any, table: str, rows: list[tuple[Any, ...]]) -> None:
    names = COLUMNS[table].split()
    marks = ", ".join("?" * len(names))
    quoted = ", ".join(f'"{name}"' for name in names)
    connection.executemany(f"INSERT INTO {table} ({quoted}) VALUES ({marks})", rows)


def into_postgresql(
    connection: psycopg.Connection, table: str, rows: list[tuple[Any, ...]], before: str = ""
) -> None:
    """COPY rows into a table, or into the one that has its name with `before` in front."""
    names = ", ".join(f'"{name}"' for name in COLUMNS[table].split())
    with connection.cursor() as cursor, cursor.copy(f"COPY {before}{table} ({names}) FROM STDIN") as copy:
        for row in rows:
            copy.write_row(row)
