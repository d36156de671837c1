"""PostgreSQL says which order has changed, to whoever listens. SQLite can't; see `infra/sql/notices.py`."""

from __future__ import annotations

from alembic import op

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

# An INSERT says nothing: nobody waits for an order that is not stored yet, and a review is opened in the
# transaction that moves its order. Two notices alike in one transaction are sent as one.
_TRIGGERS = {
    "orders": ("id", "OLD.version <> NEW.version OR OLD.state <> NEW.state"),
    "reviews": ("order_id", "OLD.version <> NEW.version OR OLD.status <> NEW.status"),
}


def upgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table, (column, changed) in _TRIGGERS.items():
        op.execute(
            f"CREATE FUNCTION saycart_notice_{table}() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN PERFORM pg_notify('saycart_orders', NEW.{column}); RETURN NULL; END $$"
        )
        op.execute(
            f"CREATE TRIGGER saycart_notice AFTER UPDATE ON {table} FOR EACH ROW WHEN ({changed}) "
            f"EXECUTE FUNCTION saycart_notice_{table}()"
        )


def downgrade() -> None:
    if op.get_bind().dialect.name != "postgresql":
        return
    for table in _TRIGGERS:
        op.execute(f"DROP TRIGGER saycart_notice ON {table}")
        op.execute(f"DROP FUNCTION saycart_notice_{table}()")
