"""The verdict: the client's ledger against the API, the database and the webhook receiver.

Lost: answered 202, and unknown, unfinished, or (completed) never sent to the receiver. Doubled: two orders
under one key, two ends of one order, two different completion messages of one order.
"""

from __future__ import annotations

import json
import time
from collections import Counter, defaultdict
from collections.abc import Callable
from typing import Any

import httpx
from sqlalchemy import func, select

from infra.sql.database import Database
from schemas.errors import StaleState
from schemas.lifecycle import SETTLED, STATUS, WAITING, Event, State, advance
from services.storage.base.tables import EventRow, OrderRow, OutboxRow
from tests.faults.ledger import Ledger
from tests.faults.works import Works

# Of the history, what is no move: the first entry, and a stage that was put back.
_NO_MOVES = {"received", "retry"}
_ENDS = {STATUS[state] for state in SETTLED}


def until_quiet(works: Works, timeout_s: float) -> tuple[float | None, float | None]:
    """Seconds from now until no order waited, and until no message did; None: not within the time."""
    began = time.monotonic()
    orders = messages = None
    while time.monotonic() - began < timeout_s and messages is None:
        waiting, untold = _waiting(works.database)
        if not waiting and orders is None:
            orders = round(time.monotonic() - began, 1)
        if not waiting and not untold:
            messages = round(time.monotonic() - began, 1)
        time.sleep(0.25)
    return orders, messages


def judge(works: Works, ledger: Ledger) -> dict[str, Any]:
    """Figures of one run, with up to five examples of whatever went wrong."""
    trouble: dict[str, list[str]] = defaultdict(list)
    shown = _from_api(works.url, works.headers)
    rows, events = _from_database(works.database)
    messages = _messages(works)
    accepted = {entry.key: entry for entry in ledger.entries if entry.ids}
    for entry in accepted.values():
        if len(entry.ids) > 1:
            trouble["doubled"].append(f"{entry.key} has the orders {sorted(entry.ids)}")
        for order_id in entry.ids:
            _one(order_id, shown.get(order_id), rows.get(order_id), messages[order_id], trouble)
    _keys(rows, {entry.number for entry in ledger.entries}, trouble)
    for order_id, history in events.items():
        for fault in _chain(history, rows[order_id]["state"]):
            trouble["doubled" if "ends" in fault else "broken history"].append(f"{order_id}: {fault}")
    return {
        "accepted": len(accepted),
        "sent": len(ledger.entries),
        "lost": len(trouble["lost"]),
        "doubled": len(trouble["doubled"]),
        "broken histories": len(trouble["broken history"]),
        "refused": len(ledger.refused),
        "answers": dict(sorted(ledger.answers.items())),
        "ended": dict(Counter(shown[i]["status"] for e in accepted.values() for i in e.ids if i in shown)),
        "messages": sum(map(len, messages.values())),
        **_runs(works),
        "trouble": {kind: found[:5] for kind, found in trouble.items() if found}
        | ({"refused": ledger.refused[:5]} if ledger.refused else {}),
    }


def _one(
    order_id: str,
    shown: dict[str, Any] | None,
    row: dict[str, Any] | None,
    messages: list[dict[str, Any]],
    trouble: dict[str, list[str]],
) -> None:
    """One accepted order at the three places where it must be."""
    if shown is None or row is None:
        trouble["lost"].append(f"{order_id} is unknown to the {'API' if row else 'database'}")
        return
    if shown["status"] not in _ENDS:
        trouble["lost"].append(f"{order_id} is still {shown['status']} at {shown['stage']}")
    if shown["status"] != STATUS[State(row["state"])]:
        trouble["lost"].append(f"{order_id}: the API says {shown['status']}, the database {row['state']}")
    completed = [message for message in messages if message["type"] == "order.completed"]
    if shown["status"] == "completed" and not completed:
        trouble["lost"].append(f"{order_id} completed, and the shop got no message")
    if len({message["id"] for message in completed}) > 1:
        trouble["doubled"].append(f"{order_id}: the shop got {len(completed)} messages that it completed")
    if completed and shown["status"] != "completed":
        trouble["doubled"].append(f"{order_id}: the shop was sent completed, it is {shown['status']}")
    numbers = [message["data"]["seq"] for message in messages]
    if numbers != sorted(numbers):
        trouble["broken history"].append(f"{order_id}: messages came in the order {numbers}")


def _keys(rows: dict[str, dict[str, Any]], sent: set[int], trouble: dict[str, list[str]]) -> None:
    """Each number that was sent is at most one order, and no order is of another number."""
    numbers = Counter((row["metadata"] or {}).get("n") for row in rows.values())
    trouble["doubled"] += [f"number {n} is {times} orders" for n, times in numbers.items() if times > 1]
    trouble["doubled"] += [f"number {n} was never sent" for n in numbers if n not in sent]


def _chain(history: list[tuple[int, str, str]], state: str) -> list[str]:
    """What is wrong with a history of (seq, type, state): each move must follow from the one before."""
    if not history or history[0][1] != "received":
        return ["it does not begin with received"]
    at, ends = State.RECEIVED, 0
    for _, kind, after in history[1:]:
        if kind in _NO_MOVES:
            continue
        try:
            at = advance(at, Event(kind))
        except (StaleState, ValueError):
            return [f"{kind} can't follow {at.value}"]
        ends += at in SETTLED
        if at.value != after:
            return [f"{kind} is noted as {after}, and leads to {at.value}"]
    faults = [f"it ends {ends} times"] if ends > 1 else []
    return faults + ([f"history leads to {at.value}, the order is {state}"] if at.value != state else [])


def _from_api(url: str, headers: dict[str, str]) -> dict[str, dict[str, Any]]:
    shown, cursor = {}, None
    with httpx.Client(base_url=url, headers=headers, timeout=30.0, trust_env=False) as client:
        while True:
            asked = {"limit": 100, **({"cursor": cursor} if cursor else {})}
            page = client.get("/v1/orders", params=asked).raise_for_status().json()
            shown |= {order["id"]: order for order in page["orders"]}
            cursor = page["next_cursor"]
            if cursor is None:
                return shown


def _from_database(
    database: Database,
) -> tuple[dict[str, dict[str, Any]], dict[str, list[tuple[int, str, str]]]]:
    """Orders and their histories."""
    with database.read() as session:
        asked = session.execute(select(OrderRow.id, OrderRow.state, OrderRow.metadata_))
        rows = {row[0]: {"state": row[1], "metadata": row[2]} for row in asked}
        events: dict[str, list[tuple[int, str, str]]] = {order_id: [] for order_id in rows}
        listed = select(EventRow.order_id, EventRow.seq, EventRow.type, EventRow.state)
        for order_id, *entry in session.execute(listed.order_by(EventRow.order_id, EventRow.seq)):
            events[order_id].append((entry[0], entry[1], entry[2]))
        return rows, events


def _messages(works: Works) -> dict[str, list[dict[str, Any]]]:
    """What the receiver kept, by order."""
    found: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if works.inbox.exists():
        for line in works.inbox.read_text().splitlines():
            message = json.loads(line)
            found[message["data"]["order_id"]].append(message)
    return found


def _runs(works: Works) -> dict[str, Any]:
    """Stage runs, and how many more there were than one for each stage of each order."""
    runs = works.runs.read_text().splitlines()
    needed = len(set(runs))
    extra = len(runs) - needed
    return {"stage runs": len(runs), "extra runs %": round(100 * extra / needed, 2) if needed else 0.0}


def _waiting(database: Database) -> tuple[int, int]:
    """Orders that wait for a worker, and messages that wait for the courier."""
    with database.read() as session:
        states = [state.value for state in WAITING]
        orders = select(func.count()).select_from(OrderRow).where(OrderRow.state.in_(states))
        open_ = (OutboxRow.delivered_at.is_(None), OutboxRow.dead_at.is_(None))
        messages = select(func.count()).select_from(OutboxRow).where(*open_)
        return session.execute(orders).scalar_one(), session.execute(messages).scalar_one()


def settled(counts: Callable[[], dict[State, int]]) -> int:
    """How many orders have ended, as a store's `counts` says."""
    return sum(number for state, number in counts().items() if state in SETTLED)
