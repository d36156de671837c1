"""Run by Alembic inside `infra/sql/migrating.py`, on its connection and in its transaction."""

from alembic import context

# SQLite can't alter a column in place: Alembic copies the table.
context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
with context.begin_transaction():
    context.run_migrations()
