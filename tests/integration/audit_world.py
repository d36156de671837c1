"""Helpers for tests of the audit log: write entries, and bypass the triggers."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import text
from sqlalchemy.orm import Session

from infra.sql.database import Database
from schemas.shops.audit import Actor
from services.storage.audit.log import record
from services.storage.base.changes import writing

ANN = Actor("staff:ann", "192.0.2.7", "0123456789abcdef")
_TRIGGERS = ("audit_log_next", "audit_log_no_update", "audit_log_no_delete")


def act(database: Database, number: int = 0, shop: str = "main") -> None:
    """Write an entry in its own transaction."""
    with writing(database.everywhere()) as (session, now):
        before, after = {"/items/tea/price": 300}, {"/items/tea/price": number}
        about = ("menu", f"cafe-{number}")
        record(session, now, ANN, "price.changed", about, shop=shop, before=before, after=after)


@contextmanager
def past_the_triggers(database: Database) -> Iterator[Session]:
    """Run statements as the database's owner, with triggers disabled."""
    with database.write() as session:
        if not database.is_sqlite:
            session.execute(text("SET LOCAL session_replication_role = replica"))
            yield session
            return
        kept = session.scalars(
            text("SELECT sql FROM sqlite_master WHERE type = 'trigger' AND tbl_name = 'audit_log'")
        ).all()
        assert len(kept) == len(_TRIGGERS)
        for name in _TRIGGERS:
            session.execute(text(f"DROP TRIGGER {name}"))
        yield session
        for statement in kept:
            session.connection().exec_driver_sql(str(statement))


def tamper(database: Database, statement: str, **values: Any) -> None:
    with past_the_triggers(database) as session:
        assert session.execute(text(statement), values).rowcount >= 1  # type: ignore[attr-defined]
