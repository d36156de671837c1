"""Run by Alembic inside `infra/sql/migrating.py`, on its connection and in its transaction; or without one,
where the SQL for PostgreSQL is printed."""

from alembic import context

from infra.sql.migrating import EVERY_ROW

if context.is_offline_mode():
    context.configure(dialect_name="postgresql", literal_binds=True)
else:
    # SQLite can't alter a column in place: Alembic copies the table.
    context.configure(connection=context.config.attributes["connection"], render_as_batch=True)
with context.begin_transaction():
    if context.is_offline_mode():
        context.get_context().impl.static_output(f"{EVERY_ROW};\n")
    context.run_migrations()
