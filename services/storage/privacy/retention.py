"""Retention: what is over its time goes, a few orders at a time. The sweeper calls it (ADR 44).

An order's time runs from its end (`updated_at`, which erasing leaves alone); one that is under way, proposed
or in review has none. Each step is one short transaction over at most `limit` orders that an index finds, and
says so in the audit log with it; one that is cut off has not happened, and the next finds the same orders.
Nothing to do costs a look at an index, and no write. The files of recordings that no order names any more are
collected by `services/workers/sweeper.py`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import Select, delete, select, text
from sqlalchemy.orm import Session, load_only

from schemas.shops.audit import Actor, stamp
from services.storage.audit.log import record
from services.storage.base.changes import writing
from services.storage.base.mapping import as_stored
from services.storage.base.scoping import OfShop
from services.storage.base.tables import (
    ENDED,
    HAS_RECORDING,
    HAS_WORDS,
    EventRow,
    IdempotencyRow,
    OrderRow,
    OutboxRow,
    ReviewRecordRow,
    ReviewRow,
)
from services.storage.privacy.erasure import wipe

SWEEPER = Actor("system:sweeper")
_QUIETLY = {"synchronize_session": False}
CarryOut = Callable[[Session, datetime, Sequence[OrderRow]], None]
STEP = 50
"""Orders of one transaction: some 20 ms of SQLite's one writer."""


class RetentionStore(OfShop):
    """Of one shop. Every call is one step; how many orders it was for, 0 when nothing is over its time."""

    def recordings(self, older_than_s: float, limit: int = STEP) -> int:
        """Release recordings of orders that ended so many seconds ago."""
        return self._step("recordings", self._ended(HAS_RECORDING, limit), older_than_s, _release_recordings)

    def words(self, older_than_s: float, limit: int = STEP) -> int:
        """Erase what the customers of such orders said, with their recordings where they still are there."""
        return self._step("transcripts", self._ended(HAS_WORDS, limit), older_than_s, _erase)

    def orders(self, older_than_s: float, limit: int = STEP) -> int:
        """Delete such orders whole."""
        # `created_at` comes before the end and has the index; nearly all that it finds has ended as long ago.
        over = self._ended(ENDED, limit, OrderRow.created_at, OrderRow.id)
        return self._step("orders", over, older_than_s, _delete)

    def _step(self, what: str, over: Select[Any], older_than_s: float, carry_out: CarryOut) -> int:
        """One step over the orders that `over` finds; how many they were."""
        # Looked for in a read first: an idle sweeper would else take SQLite's one writer at each sweep.
        with self._database.read() as session:
            query = _before(over, self._database.now(session), older_than_s)
            if session.scalar(query.with_only_columns(OrderRow.id).limit(1)) is None:
                return 0
        with writing(self._database) as (session, now):
            # Held to the end; one that is held by another is left for the next time.
            # No documents: each would be read and checked.
            few = load_only(OrderRow.audio_key, OrderRow.version)
            query = _before(over, now, older_than_s).options(few).with_for_update(skip_locked=True)
            if rows := session.scalars(query).all():
                carry_out(session, now, rows)
                after = {what: len(rows), "ended_before": stamp(now - timedelta(seconds=older_than_s))}
                about = ("shop", self._shop)
                record(session, now, SWEEPER, "retention.carried_out", about, shop=self._shop, after=after)
            return len(rows)

    def _ended(self, condition: str, limit: int, *by: Any) -> Select[Any]:
        query = select(OrderRow).where(OrderRow.shop_id == self._shop, text(condition))
        return query.order_by(*(by or (OrderRow.updated_at,))).limit(limit)


def _before(over: Select[Any], now: datetime, older_than_s: float) -> Select[Any]:
    end = now - timedelta(seconds=older_than_s)
    return over.where(OrderRow.updated_at < end, OrderRow.created_at < end)


def _release_recordings(session: Session, _now: datetime, rows: Sequence[OrderRow]) -> None:
    stored = as_stored(session, [row.id for row in rows], OrderRow.utterances)
    for row in rows:
        utterances: Any = [{**one, "audio_key": None} for one in stored[row.id].utterances]
        row.audio_key, row.utterances = None, utterances


def _erase(session: Session, now: datetime, rows: Sequence[OrderRow]) -> None:
    for row in rows:
        row.audio_key = None
    wipe(session, now, rows)


def _delete(session: Session, _now: datetime, rows: Sequence[OrderRow]) -> None:
    ids = [row.id for row in rows]
    reviews = select(ReviewRow.id).where(ReviewRow.order_id.in_(ids))
    records = delete(ReviewRecordRow).where(ReviewRecordRow.review_id.in_(reviews))
    session.execute(records, execution_options=_QUIETLY)
    for table in (OutboxRow, ReviewRow, IdempotencyRow, EventRow):
        of_orders = table.order_id.in_(ids)
        session.execute(delete(table).where(of_orders), execution_options=_QUIETLY)
    session.execute(delete(OrderRow).where(OrderRow.id.in_(ids)))
