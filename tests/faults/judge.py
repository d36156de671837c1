"""Compare the client's ledger with the API, the database and the webhook receiver.

Lost: answered with 202, but unknown, unfinished, or completed without a webhook. Doubled: two orders under
one key, two ends of one order, or two different completion messages.
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
from tests.faults.running_stack import RunningStack

# History entries that are not transitions.
_NOT_TRANSITIONS = {"received", "retry"}
_ENDS = {STATUS[state] for state in SETTLED}


def until_quiet(stack: RunningStack, timeout_s: float) -> tuple[float | None, float | None]:
    """Seconds until no order was waiting, and until no message was; None after the timeout."""
    began = time.monotonic()
    orders = messages = None
    while time.monotonic() - began < timeout_s and messages is None:
        waiting, undelivered = _waiting(stack.database)
        if not waiting and orders is None:
            orders = round(time.monotonic() - began, 1)
        if not waiting and not undelivered:
            messages = round(time.monotonic() - began, 1)
        time.sleep(0.25)
    return orders, messages


def judge(stack: RunningStack, ledger: Ledger) -> dict[str, Any]:
    """Return the figures of a run, with up to five examples of each problem."""
    trouble: dict[str, list[str]] = defaultdict(list)
    shown = _from_api(stack.url, stack.headers)
    rows, events = _from_database(stack.database)
    messages = _messages(stack)
    accepted = {entry.key: entry for entry in ledger.entries if entry.ids}
    for entry in accepted.values():
        if len(entry.ids) > 1:
            trouble["doubled"].append(f"{entry.key} has the orders {sorted(entry.ids)}")
        for order_id in entry.ids:
            _check(order_id, shown.get(order_id), rows.get(order_id), messages[order_id], trouble)
    _check_numbers(rows, {entry.number for entry in ledger.entries}, trouble)
    for order_id, history in events.items():
        for fault in _history_faults(history, rows[order_id]["state"]):
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
        **_runs(stack),
        "trouble": {kind: examples[:5] for kind, examples in trouble.items() if examples}
        | ({"refused": ledger.refused[:5]} if ledger.refused else {}),
    }


def _check(
    order_id: str,
    shown: dict[str, Any] | None,
    row: dict[str, Any] | None,
    messages: list[dict[str, Any]],
    trouble: dict[str, list[str]],
) -> None:
    """Check an accepted order in the API, the database and the receiver."""
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
        trouble["doubled"].append(f"{order_id}: the shop got order.completed, but it is {shown['status']}")
    numbers = [message["data"]["seq"] for message in messages]
    if numbers != sorted(numbers):
        trouble["broken history"].append(f"{order_id}: messages came in the order {numbers}")


def _check_numbers(rows: dict[str, dict[str, Any]], sent: set[int], trouble: dict[str, list[str]]) -> None:
    """Check that each number sent has at most one order, and every order such a number."""
    numbers = Counter((row["metadata"] or {}).get("n") for row in rows.values())
    trouble["doubled"] += [f"number {n} is {times} orders" for n, times in numbers.items() if times > 1]
    trouble["doubled"] += [f"number {n} was never sent" for n in numbers if n not in sent]


def _history_faults(history: list[tuple[int, str, str]], state: str) -> list[str]:
    """Return the invalid transitions in a history of (seq, type, state)."""
    if not history or history[0][1] != "received":
        return ["it does not begin with received"]
    at, ends = State.RECEIVED, 0
    for _, kind, after in history[1:]:
        if kind in _NOT_TRANSITIONS:
            continue
        try:
            at = advance(at, Event(kind))
        except (StaleState, ValueError):
            return [f"{kind} can't follow {at.value}"]
        ends += at in SETTLED
        if at.value != after:
            return [f"{kind} is recorded as {after}, but leads to {at.value}"]
    faults = [f"it ends {ends} times"] if ends > 1 else []
    return faults + ([f"history leads to {at.value}, the order is {state}"] if at.value != state else [])


def _from_api(url: str, headers: dict[str, str]) -> dict[str, dict[str, Any]]:
    shown, cursor = {}, None
    with httpx.Client(base_url=url, headers=headers, timeout=30.0, trust_env=False) as client:
        while True:
            params = {"limit": 100, **({"cursor": cursor} if cursor else {})}
            page = client.get("/v1/orders", params=params).raise_for_status().json()
            shown |= {order["id"]: order for order in page["orders"]}
            cursor = page["next_cursor"]
            if cursor is None:
                return shown


def _from_database(
    database: Database,
) -> tuple[dict[str, dict[str, Any]], dict[str, list[tuple[int, str, str]]]]:
    """Orders and their histories."""
    with database.read() as session:
        orders = session.execute(select(OrderRow.id, OrderRow.state, OrderRow.metadata_))
        rows = {row[0]: {"state": row[1], "metadata": row[2]} for row in orders}
        events: dict[str, list[tuple[int, str, str]]] = {order_id: [] for order_id in rows}
        query = select(EventRow.order_id, EventRow.seq, EventRow.type, EventRow.state)
        for order_id, *entry in session.execute(query.order_by(EventRow.order_id, EventRow.seq)):
            events[order_id].append((entry[0], entry[1], entry[2]))
        return rows, events


def _messages(stack: RunningStack) -> dict[str, list[dict[str, Any]]]:
    """Messages that the receiver stored, by order."""
    messages: dict[str, list[dict[str, Any]]] = defaultdict(list)
    if stack.inbox.exists():
        for line in stack.inbox.read_text().splitlines():
            message = json.loads(line)
            messages[message["data"]["order_id"]].append(message)
    return messages


def _runs(stack: RunningStack) -> dict[str, Any]:
    """Count stage runs, and repeated runs of a stage for the same order."""
    runs = stack.runs.read_text().splitlines()
    needed = len(set(runs))
    extra = len(runs) - needed
    return {"stage runs": len(runs), "extra runs %": round(100 * extra / needed, 2) if needed else 0.0}


def _waiting(database: Database) -> tuple[int, int]:
    """Count orders waiting for a worker, and messages waiting for the courier."""
    with database.read() as session:
        states = [state.value for state in WAITING]
        orders = select(func.count()).select_from(OrderRow).where(OrderRow.state.in_(states))
        open_ = (OutboxRow.delivered_at.is_(None), OutboxRow.dead_at.is_(None))
        messages = select(func.count()).select_from(OutboxRow).where(*open_)
        return session.execute(orders).scalar_one(), session.execute(messages).scalar_one()


def settled(counts: Callable[[], dict[State, int]]) -> int:
    """Return the number of finished orders, from a store's `counts`."""
    return sum(number for state, number in counts().items() if state in SETTLED)
