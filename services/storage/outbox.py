"""The outbox: messages to the shop's system, each delivered at least once, those of one order in order.

A message is due when nobody holds it, its wait is over, and no earlier one of its order is still waiting.
It ends delivered or dead; `replay` makes it due again under the same id.
"""

from __future__ import annotations

import builtins
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from sqlalchemy import ColumnElement, and_, delete, exists, func, or_, select, update
from sqlalchemy.orm import aliased

from infra.database import Database
from schemas.errors import NotFound
from services.storage import folding, tallies
from services.storage.changes import reading, swap, writing
from services.storage.tables import OutboxRow

MAX_ERROR_CHARS = 300


@dataclass(frozen=True, slots=True)
class Message:
    """One row of the outbox. `attempt` counts claims; times are aware UTC datetimes."""

    id: str
    order_id: str
    seq: int
    type: str
    payload: dict[str, Any]
    version: int
    attempt: int
    last_error: str | None
    next_attempt_at: datetime | None
    created_at: datetime
    delivered_at: datetime | None
    dead_at: datetime | None


class Outbox:
    """Every call is one transaction, and may raise StorageUnavailable beside what it names."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def claim(self, *, owner: str, limit: int, lease_s: float) -> builtins.list[Message]:
        """Take up to `limit` due messages for `lease_s` seconds, oldest first.

        The attempt is counted here, so that a courier killed in the middle has used one up.
        """
        # Looked for in a read first: an idle courier would else take SQLite's one writer twice a second.
        with reading(self._database) as session:
            now = self._database.now(session)
            query = select(OutboxRow.id, OutboxRow.version).where(_due(now))
            seen = session.execute(query.order_by(OutboxRow.created_at, OutboxRow.id).limit(limit)).all()
        if not seen:
            return []
        with writing(self._database) as (session, now):
            rows = [
                swap(
                    session,
                    OutboxRow,
                    key,
                    version,
                    attempt=OutboxRow.attempt + 1,
                    lease_owner=owner,
                    lease_until=now + timedelta(seconds=lease_s),
                )
                # In the order of ids: two couriers that take the same rows then never wait in a circle.
                for key, version in sorted((key, version) for key, version in seen)
            ]
            return [_message(row) for row in rows if row is not None]

    def delivered(self, message: Message) -> bool:
        """Close a claimed message; False when somebody else has changed it since."""
        with writing(self._database) as (session, now):
            free = {"lease_owner": None, "lease_until": None, "next_attempt_at": None, "last_error": None}
            row = swap(session, OutboxRow, message.id, message.version, delivered_at=now, **free)
            return row is not None

    def failed(self, message: Message, error: str, *, retry_in_s: float | None) -> bool:
        """Put a claimed message back, due in `retry_in_s` seconds; None: dead. False as in `delivered`."""
        with writing(self._database) as (session, now):
            row = swap(
                session,
                OutboxRow,
                message.id,
                message.version,
                lease_owner=None,
                lease_until=None,
                next_attempt_at=None if retry_in_s is None else now + timedelta(seconds=retry_in_s),
                dead_at=now if retry_in_s is None else None,
                last_error=_storable(error),
            )
            return row is not None

    def list(self, *, dead: bool, limit: int) -> builtins.list[Message]:
        """The oldest messages that are dead, or else that still wait."""
        end = OutboxRow.dead_at.is_not(None) if dead else _open(OutboxRow)
        query = select(OutboxRow).where(end).order_by(OutboxRow.created_at, OutboxRow.id).limit(limit)
        with reading(self._database) as session:
            return [_message(row) for row in session.scalars(query)]

    def replay(self, ids: Sequence[str] | None = None) -> builtins.list[str]:
        """Make these messages, or all dead ones, due again with all their attempts; their ids.

        Raises:
            NotFound: an id that is none. Nothing is changed.
        """
        chosen = OutboxRow.dead_at.is_not(None) if ids is None else OutboxRow.id.in_(ids)
        fresh = {"attempt": 0, "delivered_at": None, "dead_at": None, "next_attempt_at": None}
        free = {"lease_owner": None, "lease_until": None, "version": OutboxRow.version + 1}
        with writing(self._database) as (session, _):
            self._database.lock(session, folding.LOCK)
            told = select(OutboxRow.delivered_at).where(chosen, OutboxRow.delivered_at.is_not(None))
            tallies.undeliver(self._database, session, list(session.scalars(told)))
            statement = update(OutboxRow).where(chosen).values({**fresh, **free}).returning(OutboxRow.id)
            found = sorted(session.scalars(statement))
            if missing := sorted(set(ids or ()) - set(found)):
                raise NotFound(
                    f"No message {', '.join(missing)}", hint="`saycart webhooks list --dead` shows them."
                )
            return found

    def counts(self) -> dict[str, int]:
        """How many messages are delivered (and not yet forgotten), waiting and dead."""
        waiting = select(func.count()).where(_open(OutboxRow))
        # No message is both; said so that the index is used, whose first column it is.
        dead = select(func.count()).where(OutboxRow.delivered_at.is_(None), OutboxRow.dead_at.is_not(None))
        with reading(self._database) as session:
            return {
                "delivered": tallies.delivered(session),
                "waiting": session.scalar(waiting) or 0,
                "dead": session.scalar(dead) or 0,
            }

    def oldest_s(self) -> float:
        """Seconds since the oldest message that waits was written; 0 when none does."""
        oldest = select(OutboxRow.created_at).where(_open(OutboxRow)).order_by(OutboxRow.created_at).limit(1)
        with reading(self._database) as session:
            now, written = self._database.now(session), session.scalar(oldest)
            return max(0.0, (now - written).total_seconds()) if written is not None else 0.0

    def forget(self, older_than_s: float) -> int:
        """Drop messages that were delivered more than so many seconds ago; how many there were."""
        with writing(self._database) as (session, now):
            self._database.lock(session, folding.LOCK)
            old = OutboxRow.delivered_at < now - timedelta(seconds=older_than_s)
            gone = session.scalars(delete(OutboxRow).where(old).returning(OutboxRow.delivered_at)).all()
            tallies.undeliver(self._database, session, list(gone))
            return len(gone)


def _open(row: type[OutboxRow]) -> ColumnElement[bool]:
    return and_(row.delivered_at.is_(None), row.dead_at.is_(None))


def _due(now: datetime) -> ColumnElement[bool]:
    earlier = aliased(OutboxRow)
    waits_for = exists().where(
        earlier.order_id == OutboxRow.order_id, earlier.seq < OutboxRow.seq, _open(earlier)
    )
    return and_(
        _open(OutboxRow),
        or_(OutboxRow.lease_until.is_(None), OutboxRow.lease_until <= now),
        or_(OutboxRow.next_attempt_at.is_(None), OutboxRow.next_attempt_at <= now),
        ~waits_for,
    )


def _storable(error: str) -> str:
    """An answer's words may hold anything; PostgreSQL's text holds no NUL."""
    return "".join(sign if sign.isprintable() else " " for sign in error)[:MAX_ERROR_CHARS]


def _message(row: OutboxRow) -> Message:
    return Message(**{name: getattr(row, name) for name in Message.__slots__})
