"""Retention: what is over its time goes, a few orders at a time. The sweeper calls it (ADR 44).

An order's time runs from its end (`updated_at`, which erasing leaves alone); one that is under way, proposed
or in review has none. Each step is one short transaction over at most `limit` orders that an index finds, and
says so in the audit log with it; one that is cut off has not happened, and the next finds the same orders.
Nothing to do costs a look at an index, and no write.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, select, text
from sqlalchemy.orm import Session, load_only

from infra.sql.database import Database
from schemas.shops.audit import Actor, stamp
from services.storage.audit.log import record
from services.storage.base.changes import let_go, reading, writing
from services.storage.base.scoping import database_of
from services.storage.base.tables import (
    ENDED,
    HAS_RECORDING,
    HAS_WORDS,
    CodeRow,
    EventRow,
    IdempotencyRow,
    OrderRow,
    OutboxRow,
    ReviewRecordRow,
    ReviewRow,
)
from services.storage.privacy.erasure import wipe

SWEEPER = Actor("system:sweeper")
_NAMES = load_only(OrderRow.id, OrderRow.audio_key)
# What is only emptied need not be read.
_READ = load_only(
    *(OrderRow.id, OrderRow.shop_id, OrderRow.version, OrderRow.audio_key),
    *(OrderRow.cart, OrderRow.error, OrderRow.engine, OrderRow.answer, OrderRow.decision),
)
_QUIETLY = {"synchronize_session": False}
Carry = Callable[[Session, datetime, Sequence[OrderRow]], int]
STEP = 50
"""Orders of one transaction: some 20 ms of SQLite's one writer."""


class RetentionStore:
    """Of one shop. Every call is one step, and may raise StorageUnavailable; how many orders it was for, 0
    when nothing is over its time."""

    def __init__(self, database: Database, shop: str) -> None:
        self._database, self._shop = database_of(database, shop), shop

    def recordings(self, older_than_s: float, limit: int = STEP) -> int:
        """Let go of recordings of orders that ended so many seconds ago."""
        over = self._ended(HAS_RECORDING, limit).options(_NAMES)
        return self._step("recordings", over, older_than_s, self._silence)

    def words(self, older_than_s: float, limit: int = STEP) -> int:
        """Erase what the customers of such orders said, with their recordings where they still are there."""
        over = self._ended(HAS_WORDS, limit).options(_READ)
        return self._step("transcripts", over, older_than_s, self._erase)

    def orders(self, older_than_s: float, limit: int = STEP) -> int:
        """Take such orders away whole."""
        return self._step("orders", self._over(limit), older_than_s, self._take_away, whole=True)

    def _step(
        self, what: str, over: Select[Any], older_than_s: float, do: Carry, *, whole: bool = False
    ) -> int:
        """One step over the orders that `over` finds: `do` gives how many it was for. `whole` is of orders
        that go with all that is counted of them."""
        # Looked for in a read first: an idle sweeper would else take SQLite's one writer at each sweep.
        with reading(self._database) as session:
            query = _before(over, self._database.now(session), older_than_s, came=whole)
            if session.scalar(query.with_only_columns(OrderRow.id).limit(1)) is None:
                return 0
        with writing(self._database) as (session, now):
            # Held to the end; one that somebody else holds is left for the next time.
            query = _before(over, now, older_than_s, came=whole).with_for_update(skip_locked=True)
            count = do(session, now, session.scalars(query).all())
            if count:
                after = {what: count, "ended_before": stamp(now - timedelta(seconds=older_than_s))}
                session.flush()
                about = ("shop", self._shop)
                record(session, now, SWEEPER, "retention.carried_out", about, shop=self._shop, after=after)
            return count

    def _silence(self, session: Session, now: datetime, rows: Sequence[OrderRow]) -> int:
        for row in rows:
            let_go(session, now, row)
            row.audio_key = None
        return len(rows)

    def _erase(self, session: Session, now: datetime, rows: Sequence[OrderRow]) -> int:
        self._silence(session, now, rows)
        wipe(session, now, rows)
        return len(rows)

    def _take_away(self, session: Session, now: datetime, rows: Sequence[OrderRow]) -> int:
        for row in rows:
            let_go(session, now, row)
        session.flush()
        _remove(session, [row.id for row in rows])
        return len(rows)

    def _ended(self, condition: str, limit: int) -> Select[Any]:
        query = select(OrderRow).where(OrderRow.shop_id == self._shop, text(condition))
        return query.order_by(OrderRow.updated_at).limit(limit)

    def _over(self, limit: int) -> Select[Any]:
        # `created_at` comes before the end and has the index; nearly all that it finds has ended as long ago.
        query = select(OrderRow).where(OrderRow.shop_id == self._shop, text(ENDED)).options(_NAMES)
        return query.order_by(OrderRow.created_at, OrderRow.id).limit(limit)


def _before(over: Select[Any], now: datetime, older_than_s: float, *, came: bool) -> Select[Any]:
    end = now - timedelta(seconds=older_than_s)
    over = over.where(OrderRow.updated_at < end)
    return over.where(OrderRow.created_at < end) if came else over


def _remove(session: Session, ids: Sequence[str]) -> None:
    reviews = select(ReviewRow.id).where(ReviewRow.order_id.in_(ids))
    records = delete(ReviewRecordRow).where(ReviewRecordRow.review_id.in_(reviews))
    session.execute(records, execution_options=_QUIETLY)
    for table in (OutboxRow, ReviewRow, IdempotencyRow, CodeRow, EventRow):
        of_orders = table.order_id.in_(ids)
        session.execute(delete(table).where(of_orders), execution_options=_QUIETLY)
    session.execute(delete(OrderRow).where(OrderRow.id.in_(ids)))
