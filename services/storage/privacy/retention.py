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
from services.storage.base.tables import ENDED, HAS_RECORDING, HAS_WORDS, OrderRow
from services.storage.privacy.erasure import wipe

SWEEPER = Actor("system:sweeper")
CarryOut = Callable[[Session, datetime, Sequence[OrderRow]], None]
STEP = 50
"""Orders of one transaction, which takes about 20 ms on SQLite."""


class RetentionStore(OfShop):
    """Retention of one shop."""

    def step(self, what: str, older_than_s: float, limit: int = STEP) -> int:
        """Carry out one of `STEPS` for old orders; return for how many, 0 if there are none."""
        with writing(self._database) as (session, now):
            end = now - timedelta(seconds=older_than_s)
            # Without documents, which are slow to parse.
            columns = load_only(OrderRow.audio_key, OrderRow.version)
            query = self.over(what, end, limit).options(columns).with_for_update(skip_locked=True)
            if rows := session.scalars(query).all():
                _, carry_out = STEPS[what]
                carry_out(session, now, rows)
                about, after = ("shop", self._shop), {what: len(rows), "ended_before": stamp(end)}
                record(session, now, SWEEPER, "retention.carried_out", about, shop=self._shop, after=after)
            return len(rows)

    def over(self, what: str, end: datetime, limit: int) -> Select[OrderRow]:
        """Select the orders of a step that ended before `end`."""
        # Orders by `created_at`, which has the index and is only a little earlier than the end.
        by = (OrderRow.created_at, OrderRow.id) if what == "orders" else (OrderRow.updated_at,)
        is_old = OrderRow.updated_at < end, OrderRow.created_at < end
        query = select(OrderRow).where(OrderRow.shop_id == self._shop, text(STEPS[what][0]), *is_old)
        return query.order_by(*by).limit(limit)


def _release_recordings(session: Session, _now: datetime, rows: Sequence[OrderRow]) -> None:
    stored = raw_documents(session, [row.id for row in rows], OrderRow.utterances)
    for row in rows:
        utterances: Any = [{**one, "audio_key": None} for one in stored[row.id].utterances]
        row.audio_key, row.utterances = None, utterances


def _delete(session: Session, _now: datetime, rows: Sequence[OrderRow]) -> None:
    session.execute(delete(OrderRow).where(OrderRow.id.in_([row.id for row in rows])))


STEPS: dict[str, tuple[str, CarryOut]] = {
    "orders": (ENDED, _delete),
    "transcripts": (HAS_WORDS, wipe),
    "recordings": (HAS_RECORDING, _release_recordings),
}
"""Deletes whole orders; erases personal data with the recordings; releases the recordings alone."""
