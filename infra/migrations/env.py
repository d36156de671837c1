"""Run by Alembic inside `Database.migrate`, on the connection and transaction that it hands over."""

from alembic import context

context.configure(
    connection=context.config.attributes["connection"],
    # SQLite can't alter a column in place: Alembic copies the table.
    render_as_batch=True,
)
with context.begin_transaction():
    context.run_migrations()
