"""The outbox: messages to shops' systems, delivered at least once, and in order for each order.

A message is for one endpoint. It ends delivered or dead, and `replay` makes it due again under the same id.
Of an order's messages to an endpoint only the first open one can be sent, from `due_at` on. Undelivered
messages are deleted with their endpoint.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, func, select, update
from sqlalchemy.orm import Session, aliased

from schemas.errors import NotFound
from services.storage.base.changes import swap, writing
from services.storage.base.ids import paged
from services.storage.base.scoping import OfAllShops
from services.storage.base.tables import OutboxRow, WebhookEndpointRow

MAX_ERROR_CHARS = 300
IS_OPEN = and_(OutboxRow.delivered_at.is_(None), OutboxRow.dead_at.is_(None))
IS_DEAD = OutboxRow.dead_at.is_not(None)


class Outbox(OfAllShops):
    """Returns messages as detached rows. Each call is one transaction, and may also raise
    StorageUnavailable."""

    def endpoints_due(self) -> builtins.list[str]:
        """List endpoints that may have due messages, by one index lookup each."""
        waits = select(OutboxRow.id).where(IS_OPEN, OutboxRow.due_at <= self._database.clock())
        mine = waits.where(OutboxRow.endpoint_id == WebhookEndpointRow.id).correlate(WebhookEndpointRow)
        with self._database.glance() as session:
            return list(session.scalars(select(WebhookEndpointRow.id).where(mine.exists())))

    def claim(self, *, limit: int, lease_s: float, endpoint_id: str) -> builtins.list[OutboxRow]:
        """Claim up to `limit` due messages to an endpoint for `lease_s` seconds, longest due first. The
        attempt is counted here, so that one whose courier was killed counts too."""
        with writing(self._database) as (session, now):
            here = OutboxRow.endpoint_id == endpoint_id
            due = select(OutboxRow.id).where(here, IS_OPEN, OutboxRow.due_at <= now, is_first())
            due = due.order_by(OutboxRow.due_at, OutboxRow.id).limit(limit)
            ids = session.scalars(due.with_for_update(skip_locked=True)).all()
            counted = {"attempt": OutboxRow.attempt + 1, "version": OutboxRow.version + 1}
            statement = (
                update(OutboxRow)
                .where(OutboxRow.id.in_(ids))
                .values(counted | {"due_at": now + timedelta(seconds=lease_s)})
                .returning(OutboxRow)
                .execution_options(synchronize_session=False, populate_existing=True)
            )
            claimed = {row.id: row for row in session.scalars(statement)} if ids else {}
            return [claimed[key] for key in ids]

    def delivered(self, message: OutboxRow) -> bool:
        """Mark a claimed message as delivered; False if it has changed."""
        with writing(self._database) as (session, now):
            columns = {"due_at": None, "delivered_at": now, "last_error": None}
            return _finish_attempt(session, message, columns, now)

    def failed(self, message: OutboxRow, error: str, *, retry_in_s: float | None) -> bool:
        """Release a claimed message for a retry in `retry_in_s` seconds, None: it is dead. False if it has
        changed."""
        with writing(self._database) as (session, now):
            again = None if retry_in_s is None else now + timedelta(seconds=retry_in_s)
            shown = "".join(sign if sign.isprintable() else " " for sign in error)[:MAX_ERROR_CHARS]
            columns = {"due_at": again, "dead_at": None if again else now, "last_error": shown}
            return _finish_attempt(session, message, columns, again or now)

    def list(self, *, dead: bool = False, limit: int) -> builtins.list[OutboxRow]:
        """List the oldest messages that are open, or dead."""
        query = paged(OutboxRow, None, limit).where(IS_DEAD if dead else IS_OPEN)
        with self._database.read() as session:
            return list(session.scalars(query))

    def replay(self, ids: Sequence[str] | None = None) -> builtins.list[str]:
        """Make these messages, or all dead ones, due again from their first attempt; return their ids.

        Raises:
            NotFound: an unknown id. Nothing is changed.
        """
        chosen = IS_DEAD if ids is None else OutboxRow.id.in_(ids)
        fresh = {"attempt": 0, "delivered_at": None, "dead_at": None, "version": OutboxRow.version + 1}
        with writing(self._database) as (session, now):
            statement = update(OutboxRow).where(chosen).values({**fresh, "due_at": now})
            replayed = sorted(session.scalars(statement.returning(OutboxRow.id)))
            if missing := sorted(set(ids or ()) - set(replayed)):
                raise NotFound(
                    f"No message {', '.join(missing)}", hint="`saycart webhooks list --dead` shows them."
                )
            return replayed

    def counts(self) -> dict[str, int]:
        """Count the messages that are delivered (and not yet deleted), waiting and dead."""
        # By the index with `order_id`, the only column that row-level security needs.
        waiting = select(func.count()).select_from(OutboxRow).where(is_open_of_order())
        delivered = select(func.count()).where(OutboxRow.delivered_at.is_not(None))
        dead = select(func.count()).where(IS_DEAD)
        with self._database.read() as session:
            return {
                "delivered": session.scalar(delivered) or 0,
                "waiting": session.scalar(waiting) or 0,
                "dead": session.scalar(dead) or 0,
            }

    def oldest_s(self) -> float:
        """Return the age of the oldest waiting message in seconds, 0 if there is none."""
        oldest = select(OutboxRow.created_at).where(IS_OPEN).order_by(OutboxRow.created_at).limit(1)
        with self._database.read() as session:
            now, written = self._database.now(session), session.scalar(oldest)
            return max(0.0, (now - written).total_seconds()) if written is not None else 0.0

    def forget(self, older_than_s: float) -> int:
        """Delete messages delivered long ago, and open ones whose endpoint was removed while they were being
        written; return how many."""
        endpoints = select(WebhookEndpointRow.id)
        orphaned = and_(IS_OPEN, OutboxRow.endpoint_id.not_in(endpoints))
        with writing(self._database) as (session, now):
            old = OutboxRow.delivered_at < now - timedelta(seconds=older_than_s)
            return len(session.scalars(delete(OutboxRow).where(old | orphaned).returning(OutboxRow.id)).all())


def _finish_attempt(session: Session, message: OutboxRow, columns: dict[str, Any], next_at: datetime) -> bool:
    """Update a claimed message, and make the order's later ones due at `next_at`; False if it has changed."""
    row = swap(session, OutboxRow, message.id, message.version, **columns)
    if row is None:
        return False
    later = update(OutboxRow).where(
        OutboxRow.order_id == message.order_id,
        OutboxRow.endpoint_id == message.endpoint_id,
        OutboxRow.seq > message.seq,
        is_open_of_order(),
    )
    session.execute(later.values(due_at=next_at), execution_options={"synchronize_session": False})
    return True


def is_open_of_order(row: Any = OutboxRow) -> ColumnElement[bool]:
    """Return the condition `IS_OPEN` in the form of the index by order, so that PostgreSQL uses that one."""
    return func.coalesce(row.delivered_at, row.dead_at).is_(None)


def is_first() -> ColumnElement[bool]:
    """Return the condition that no earlier message of the order is open. Not written as NOT EXISTS, which
    PostgreSQL may plan as a join over all open messages."""
    other = aliased(OutboxRow)
    first = select(other.seq).where(
        other.order_id == OutboxRow.order_id,
        other.endpoint_id == OutboxRow.endpoint_id,
        is_open_of_order(other),
    )
    return OutboxRow.seq == first.order_by(other.seq).limit(1).correlate(OutboxRow).scalar_subquery()
