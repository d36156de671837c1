"""Run by Alembic inside `infra/sql/migrating.py`, on the connection that it hands over; or without one, where
the SQL for PostgreSQL is printed."""

from typing import Any

import sqlalchemy as sa
from alembic import context

from infra.sql.migrating import EVERY_ROW, LOCK_TIMEOUT_MS
from infra.sql.revisions import FIRST_KEPT

KEPT = sa.table("schema_versions", sa.column("revision", sa.String), sa.column("serves_from", sa.String))


def keep(ctx: Any, step: Any, **_: Any) -> None:
    """Write down which releases may work on tables that this migration has changed, in its transaction: the
    older ones can't read it from a migration that they do not have."""
    revision = step.up_revision_id
    if revision < FIRST_KEPT:
        return
    if step.is_upgrade:
        serves_from = step.up_revision.module.serves_from
        ctx.execute(sa.insert(KEPT).values(revision=revision, serves_from=serves_from))
    elif revision > FIRST_KEPT:
        ctx.execute(sa.delete(KEPT).where(KEPT.c.revision == revision))


# On PostgreSQL: so that a migration may step out of its transaction, and a later one not undo it.
options: dict[str, Any] = {"transaction_per_migration": True, "on_version_apply": keep}
if context.is_offline_mode():
    context.configure(dialect_name="postgresql", literal_binds=True, **options)
    context.get_context().impl.static_output(f"SET lock_timeout = '{LOCK_TIMEOUT_MS}ms';\n{EVERY_ROW};\n")
else:
    # SQLite can't alter a column in place: Alembic copies the table.
    context.configure(connection=context.config.attributes["connection"], render_as_batch=True, **options)
with context.begin_transaction():
    context.run_migrations()
