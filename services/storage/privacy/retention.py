"""Retention: deletes old data in small steps, called by the sweeper (ADR 44).

An order's age counts from its end (`updated_at`); orders that haven't ended are kept. Each step is a short
transaction over at most `limit` orders, with an entry in the audit log. The sweeper deletes the files of
recordings that no order refers to any more.
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
from services.storage.base.mapping import raw_documents
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
"""Orders of one transaction, which takes about 20 ms on SQLite."""


class RetentionStore(OfShop):
    """Retention of one shop. Each call is one step, and returns for how many orders; 0 if there are none."""

    def recordings(self, older_than_s: float, limit: int = STEP) -> int:
        """Release the recordings of old orders."""
        return self._step("recordings", self._ended(HAS_RECORDING, limit), older_than_s, _release_recordings)

    def words(self, older_than_s: float, limit: int = STEP) -> int:
        """Erase the personal data of old orders, with their recordings."""
        return self._step("transcripts", self._ended(HAS_WORDS, limit), older_than_s, _erase)

    def orders(self, older_than_s: float, limit: int = STEP) -> int:
        """Delete old orders."""
        # By `created_at`, which has the index and is only a little earlier than the end.
        over = self._ended(ENDED, limit, OrderRow.created_at, OrderRow.id)
        return self._step("orders", over, older_than_s, _delete)

    def _step(self, what: str, over: Select[Any], older_than_s: float, carry_out: CarryOut) -> int:
        """Carry out one step for the orders that `over` selects; return how many."""
        # A read first, so that an idle sweeper doesn't block SQLite's one writer.
        with self._database.read() as session:
            query = _before(over, self._database.now(session), older_than_s)
            if session.scalar(query.with_only_columns(OrderRow.id).limit(1)) is None:
                return 0
        with writing(self._database) as (session, now):
            # Without documents, which are slow to parse.
            columns = load_only(OrderRow.audio_key, OrderRow.version)
            query = _before(over, now, older_than_s).options(columns).with_for_update(skip_locked=True)
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
    stored = raw_documents(session, [row.id for row in rows], OrderRow.utterances)
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
