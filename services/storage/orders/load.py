"""Queries over many orders: how many wait, how fast they leave, and which recordings are still in use."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import datetime

from sqlalchemy import JSON, and_, case, func, select, text, type_coerce

from schemas.lifecycle import WAITING, State
from schemas.shops.access import PAGE, is_page
from services.storage.base.scoping import OfAllShops
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

WINDOW_S = 60  # over which throughput is measured
_CHUNK = 1000


@dataclass(frozen=True, slots=True)
class Load:
    """Orders that wait for workers in total, by shop and by (shop, client), and how many left in the last
    60 s. `in_review`: orders from pages in review, by (shop, client). `seconds` of work of each (shop,
    source) in its last minute; of the whole shop under an empty source, of its pages under `PAGE`."""

    waiting: int = 0
    by_shop: Counter[str] = field(default_factory=Counter)
    by_client: dict[tuple[str, str], int] = field(default_factory=dict)
    left: int = 0
    in_review: dict[tuple[str, str], int] = field(default_factory=dict)
    seconds: Mapping[tuple[str, str], float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Backlog:
    """Seconds since the oldest change of an order that waits for a stage: of those that can be claimed, and
    of those that are held; 0 if there are none."""

    oldest_s: float = 0.0
    longest_held_s: float = 0.0


def _age_s(now: datetime, at: datetime | None) -> float:
    """Return the seconds since `at`, 0 for None."""
    return max(0.0, (now - at).total_seconds()) if at is not None else 0.0


class LoadStore(OfAllShops):
    """Every call is one read, and may raise StorageUnavailable."""

    def load(self) -> Load:
        """Count waiting orders and recent work. An order that staff settled in the last minute counts as one
        that left."""
        clients = (
            select(OrderRow.shop_id, OrderRow.client, func.count())
            .where(text(WAITS))
            .group_by(OrderRow.shop_id, OrderRow.client)
        )
        since = self._database.clock(WINDOW_S)
        done = select(func.count()).select_from(OrderRow).where(text(LEFT), OrderRow.updated_at >= since)
        reviews = (
            select(ReviewRow.shop_id, OrderRow.client, func.count())
            .join(OrderRow, OrderRow.id == ReviewRow.order_id)
            .where(text(UNDECIDED), OrderRow.source.startswith(PAGE))
            .group_by(ReviewRow.shop_id, OrderRow.client)
        )
        with self._database.glance() as session:
            in_review = {(shop, client): n for shop, client, n in session.execute(reviews) if client}
            counted = {(shop, client): count for shop, client, count in session.execute(clients)}
            left = session.scalar(done)
            seconds = defaultdict[tuple[str, str], float](float)
            columns = TurnRow.shop_id, TurnRow.source, TurnRow.used, TurnRow.minute
            turns = session.execute(select(*columns).where(TurnRow.at >= since)).all()
            minutes = {shop: minute for shop, source, _, minute in turns if not source}
            for shop, source, used, minute in turns:
                seconds[shop, source] += used
                # A shop's seconds are those of one minute; a page may not have been charged in it.
                if is_page(source) and minute == minutes.get(shop, minute):
                    seconds[shop, PAGE] += used
        by_shop = Counter[str]()
        for (shop, _), count in counted.items():
            by_shop[shop] += count
        by_client = {(shop, client): n for (shop, client), n in counted.items() if client is not None}
        return Load(by_shop.total(), by_shop, by_client, left or 0, in_review, seconds)

    def backlog(self) -> dict[State, Backlog]:
        """Return the backlog of each stage."""
        with self._database.read() as session:
            now = self._database.now(session)
            free = and_(*claimable(now))
            rows = session.execute(
                select(
                    OrderRow.state,
                    func.min(case((free, OrderRow.updated_at))),
                    func.min(case((OrderRow.lease_until > now, OrderRow.updated_at))),
                )
                .where(text(WAITS))
                .group_by(OrderRow.state)
            ).all()
        backlogs = dict.fromkeys(WAITING, Backlog())
        for state, oldest, longest in rows:
            backlogs[State(state)] = Backlog(_age_s(now, oldest), _age_s(now, longest))
        return backlogs

    def knows_key(self, shop: str, client: str, key: str) -> bool:
        """Return True if an order of the shop was stored under this Idempotency-Key."""
        with self._database.read() as session:
            return session.get(IdempotencyRow, (shop, client, key)) is not None

    def unknown_recordings(self, keys: Iterable[str]) -> set[str]:
        """Return the blob keys that no order refers to, by one pass over all orders."""
        unknown = set(keys)
        if not unknown:
            return unknown
        # Raw JSON: utterances of a later release can't be read here, but keep their recordings.
        stored = type_coerce(OrderRow.utterances, JSON)
        named = select(OrderRow.audio_key, stored).where(OrderRow.audio_key.is_not(None))
        with self._database.read() as session:
            for chunk in session.execute(named, execution_options={"yield_per": _CHUNK}).partitions():
                for newest, utterances in chunk:
                    unknown.difference_update((newest, *(one.get("audio_key") for one in utterances)))
        return unknown
