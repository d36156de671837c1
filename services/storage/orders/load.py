"""How much waits and how fast it goes, and which recordings have an order: questions over many rows."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import JSON, and_, case, func, select, text, type_coerce

from infra.sql.database import Database
from schemas.lifecycle import WAITING, State
from schemas.shops.access import PAGE
from services.storage.base.tables import (
    LEFT,
    UNDECIDED,
    WAITS,
    IdempotencyRow,
    OrderRow,
    ReviewRow,
    TurnRow,
)
from services.storage.orders.turns import claimable

# Seconds over which throughput is measured.
WINDOW_S = 60
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Load:
    """Orders that wait for workers, in all, by shop and by (shop, client), and how many left them in the last
    60 s. `in_review`: those from pages that wait for a person, by (shop, client). `seconds` of work that each
    (shop, source) had in its last minute; a shop's in all under an empty source."""

    waiting: int = 0
    by_shop: Counter[str] = field(default_factory=Counter)
    by_client: dict[tuple[str, str], int] = field(default_factory=dict)
    left: int = 0
    in_review: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: dict[tuple[str, str], float] = field(default_factory=dict)

    @property
    def per_second(self) -> float:
        return self.left / WINDOW_S


@dataclass(frozen=True, slots=True)
class Backlog:
    """Of the orders that wait for one stage: for how long the oldest has been untouched that a worker may
    claim, and for how long the held one that moved on longest ago has not; seconds, 0 where there is none."""

    oldest_s: float = 0.0
    longest_held_s: float = 0.0


def _age_s(now: datetime, at: datetime | None) -> float:
    """Seconds since then, 0 for never."""
    return max(0.0, (now - at).total_seconds()) if at is not None else 0.0


class LoadStore:
    """Every call is one read, and may raise StorageUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def load(self) -> Load:
        """What waits now, by four looks. An order that a person settled in the last minute counts as one
        that left."""
        clients = (
            select(OrderRow.shop_id, OrderRow.client, func.count())
            .where(text(WAITS))
            .group_by(OrderRow.shop_id, OrderRow.client)
        )
        # Over orders and not over events: of these there are six times as many.
        since = self._database.clock(WINDOW_S)
        done = select(func.count()).select_from(OrderRow).where(text(LEFT), OrderRow.updated_at >= since)
        people = (
            select(ReviewRow.shop_id, OrderRow.client, func.count())
            .join(OrderRow, OrderRow.id == ReviewRow.order_id)
            .where(text(UNDECIDED), OrderRow.source.startswith(PAGE))
            .group_by(ReviewRow.shop_id, OrderRow.client)
        )
        with self._database.glance() as session:
            in_review = {(shop, client): n for shop, client, n in session.execute(people) if client}
            counted = {(shop, client): count for shop, client, count in session.execute(clients)}
            left = session.scalar(done)
            worked = session.execute(
                select(TurnRow.shop_id, TurnRow.source, TurnRow.used).where(TurnRow.at >= since)
            )
            seconds = {(shop, source): used for shop, source, used in worked}
        by_shop = Counter[str]()
        for (shop, _), count in counted.items():
            by_shop[shop] += count
        # Orders of older versions have no client.
        by_client = {(shop, client): n for (shop, client), n in counted.items() if client is not None}
        return Load(by_shop.total(), by_shop, by_client, left or 0, in_review, seconds)

    def backlog(self) -> dict[State, Backlog]:
        """What waits for each stage; one look at each order that waits."""
        with self._database.read() as session:
            now = self._database.now(session)
            free = and_(*claimable(now))
            rows = session.execute(
                select(
                    OrderRow.state,
                    func.min(case((free, OrderRow.updated_at))),
                    # Neither a claim nor a renewal is in it: it tells since when the order has not moved on.
                    func.min(case((OrderRow.lease_until > now, OrderRow.updated_at))),
                )
                .where(text(WAITS))
                .group_by(OrderRow.state)
            ).all()
        found = dict.fromkeys(WAITING, Backlog())
        for state, oldest, longest in rows:
            found[State(state)] = Backlog(_age_s(now, oldest), _age_s(now, longest))
        return found

    def knows_key(self, shop: str, client: str, key: str) -> bool:
        """Whether an order of the shop was stored under this Idempotency-Key."""
        with self._database.read() as session:
            return session.get(IdempotencyRow, (shop, client, key)) is not None

    def unknown_recordings(self, keys: Iterable[str]) -> set[str]:
        """Those of the blob keys that no order names. One pass over all orders: nothing is indexed by
        recording, and it is asked once an hour."""
        left = set(keys)
        if not left:
            return left
        # As stored: a recording of a later release's utterance, which can't be read here, is not unknown.
        stored = type_coerce(OrderRow.utterances, JSON)
        named = select(OrderRow.audio_key, stored).where(OrderRow.audio_key.is_not(None))
        with self._database.read() as session:
            for chunk in session.execute(named, execution_options={"yield_per": _CHUNK}).partitions():
                for newest, utterances in chunk:
                    left.difference_update((newest, *(one.get("audio_key") for one in utterances)))
        return left
