"""Run by Alembic inside `infra/sql/migrating.py`, on its connection and in its transaction."""

from alembic import context

context.configure(connection=context.config.attributes["connection"])
with context.begin_transaction():
    context.run_migrations()
