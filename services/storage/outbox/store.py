"""The outbox: messages to the shop's system, each delivered at least once, those of one order in order.

A message is for one endpoint of its order's shop. It ends delivered or dead, and `replay` makes it due again
under the same id. It goes with its endpoint. Of an order's messages to an endpoint the first that is neither
delivered nor dead may go, at `due_at`: once its wait or its lease is over, or that of the one before it. So a
claim finds what is due by an index, and passes by what waits.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, Select, and_, delete, func, select, update
from sqlalchemy.orm import Session, aliased

from infra.sql.database import Database
from schemas.errors import NotFound
from services.storage.base.changes import swap, writing
from services.storage.base.ids import paged
from services.storage.base.tables import OutboxRow, WebhookEndpointRow

MAX_ERROR_CHARS = 300
IS_OPEN = and_(OutboxRow.delivered_at.is_(None), OutboxRow.dead_at.is_(None))
IS_DEAD = OutboxRow.dead_at.is_not(None)


class Outbox:
    """Messages are rows, read once: a later change is in none of them. Every call is one transaction, and may
    raise StorageUnavailable in addition to what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database.everywhere()

    def endpoints_due(self) -> builtins.list[str]:
        """Endpoints to which something may be due now."""
        # One look into the index for each endpoint that there is.
        waits = select(OutboxRow.id).where(IS_OPEN, OutboxRow.due_at <= self._database.clock())
        mine = waits.where(OutboxRow.endpoint_id == WebhookEndpointRow.id).correlate(WebhookEndpointRow)
        with self._database.glance() as session:
            return list(session.scalars(select(WebhookEndpointRow.id).where(mine.exists())))

    def claim(self, *, limit: int, lease_s: float, endpoint_id: str) -> builtins.list[OutboxRow]:
        """Take up to `limit` due messages to an endpoint for `lease_s` seconds, longest due first; what
        another courier is taking is passed by.

        The attempt is counted here, so that a courier killed in the middle has used one up.
        """
        # Looked for first: an idle courier would else take SQLite's one writer twice a second.
        with self._database.glance() as session:
            if session.scalar(due(self._database.now(session), endpoint_id).limit(1)) is None:
                return []
        with writing(self._database) as (session, now):
            free = due(now, endpoint_id).limit(limit).with_for_update(skip_locked=True)
            ids = session.scalars(free).all()
            counted = {"attempt": OutboxRow.attempt + 1, "version": OutboxRow.version + 1}
            statement = (
                update(OutboxRow)
                .where(OutboxRow.id.in_(ids))
                .values(counted | {"due_at": now + timedelta(seconds=lease_s)})
                .returning(OutboxRow)
                .execution_options(synchronize_session=False, populate_existing=True)
            )
            taken = {row.id: row for row in session.scalars(statement)} if ids else {}
            return [taken[key] for key in ids]

    def delivered(self, message: OutboxRow) -> bool:
        """Close a claimed message; False when it was changed since."""
        with writing(self._database) as (session, now):
            columns = {"due_at": None, "delivered_at": now, "last_error": None}
            return _put_down(session, message, columns, now)

    def failed(self, message: OutboxRow, error: str, *, retry_in_s: float | None) -> bool:
        """Put a claimed message back, due in `retry_in_s` seconds; None: dead. False as in `delivered`."""
        with writing(self._database) as (session, now):
            again = None if retry_in_s is None else now + timedelta(seconds=retry_in_s)
            # A receiver's words may hold anything; PostgreSQL's text holds no NUL.
            shown = "".join(sign if sign.isprintable() else " " for sign in error)[:MAX_ERROR_CHARS]
            columns = {"due_at": again, "dead_at": None if again else now, "last_error": shown}
            return _put_down(session, message, columns, again or now)

    def list(self, *, dead: bool = False, limit: int) -> builtins.list[OutboxRow]:
        """The oldest messages that are dead, or else that still wait."""
        query = paged(OutboxRow, None, limit).where(IS_DEAD if dead else IS_OPEN)
        with self._database.read() as session:
            return list(session.scalars(query))

    def replay(self, ids: Sequence[str] | None = None) -> builtins.list[str]:
        """Make these messages, or all dead ones, due again with all their attempts; their ids.

        Raises:
            NotFound: an id that is none. Nothing is changed.
        """
        chosen = IS_DEAD if ids is None else OutboxRow.id.in_(ids)
        fresh = {"attempt": 0, "delivered_at": None, "dead_at": None, "version": OutboxRow.version + 1}
        with writing(self._database) as (session, now):
            statement = update(OutboxRow).where(chosen).values({**fresh, "due_at": now})
            found = sorted(session.scalars(statement.returning(OutboxRow.id)))
            if missing := sorted(set(ids or ()) - set(found)):
                raise NotFound(
                    f"No message {', '.join(missing)}", hint="`saycart webhooks list --dead` shows them."
                )
            return found

    def counts(self) -> dict[str, int]:
        """How many messages are delivered (and not yet forgotten), waiting and dead."""
        # By the index that has `order_id`, all that a shop's policy looks at: by another each row is fetched.
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
        """Seconds since the oldest message that waits was written; 0 when none does."""
        oldest = select(OutboxRow.created_at).where(IS_OPEN).order_by(OutboxRow.created_at).limit(1)
        with self._database.read() as session:
            now, written = self._database.now(session), session.scalar(oldest)
            return max(0.0, (now - written).total_seconds()) if written is not None else 0.0

    def forget(self, older_than_s: float) -> int:
        """Drop messages that were delivered more than so many seconds ago, and those whose endpoint was
        removed while they were written; how many."""
        endpoints = select(WebhookEndpointRow.id)
        homeless = and_(IS_OPEN, OutboxRow.endpoint_id.not_in(endpoints))
        with writing(self._database) as (session, now):
            old = OutboxRow.delivered_at < now - timedelta(seconds=older_than_s)
            return len(session.scalars(delete(OutboxRow).where(old | homeless).returning(OutboxRow.id)).all())


def _put_down(session: Session, message: OutboxRow, columns: dict[str, Any], next_at: datetime) -> bool:
    """Change a claimed message, and have those behind it looked at then; False when it was changed since."""
    row = swap(session, OutboxRow, message.id, message.version, **columns)
    if row is None:
        return False
    behind = update(OutboxRow).where(
        OutboxRow.order_id == message.order_id,
        OutboxRow.endpoint_id == message.endpoint_id,
        OutboxRow.seq > message.seq,
        is_open_of_order(),
    )
    session.execute(behind.values(due_at=next_at), execution_options={"synchronize_session": False})
    return True


def is_open_of_order(row: Any = OutboxRow) -> ColumnElement[bool]:
    # The same rows as `IS_OPEN`, in words that the index by order alone serves: PostgreSQL may guess that
    # nothing is open, and then takes all indexes of what is for equally good.
    return func.coalesce(row.delivered_at, row.dead_at).is_(None)


def is_first() -> ColumnElement[bool]:
    """No earlier message of its order is open. As a value and not as NOT EXISTS: PostgreSQL would turn that
    into a join, and may plan it over all that is open."""
    other = aliased(OutboxRow)
    first = select(other.seq).where(
        other.order_id == OutboxRow.order_id,
        other.endpoint_id == OutboxRow.endpoint_id,
        is_open_of_order(other),
    )
    return OutboxRow.seq == first.order_by(other.seq).limit(1).correlate(OutboxRow).scalar_subquery()


def due(now: datetime, endpoint_id: str) -> Select[Any]:
    """Ids of the messages to one endpoint that may go now, longest due first."""
    here = OutboxRow.endpoint_id == endpoint_id
    query = select(OutboxRow.id).where(here, IS_OPEN, OutboxRow.due_at <= now, is_first())
    return query.order_by(OutboxRow.due_at, OutboxRow.id)
