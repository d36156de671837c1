"""Who worked on each event, whose order it is, and the outbox of messages to the shop's system."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

_time = sa.DateTime(timezone=True)


def upgrade() -> None:
    for column in (sa.Column("stage", sa.String), sa.Column("attempt", sa.Integer)):
        op.add_column("order_events", column)
    op.add_column("order_events", sa.Column("worker", sa.String))
    op.add_column("orders", sa.Column("client", sa.String))
    op.create_index("ix_orders_client", "orders", ["client", "state"])
    op.create_table(
        "outbox",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("order_id", sa.String, sa.ForeignKey("orders.id"), nullable=False),
        sa.Column("seq", sa.Integer, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("payload", sa.JSON, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("lease_owner", sa.String),
        sa.Column("lease_until", _time),
        sa.Column("next_attempt_at", _time),
        sa.Column("last_error", sa.String),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("delivered_at", _time),
        sa.Column("dead_at", _time),
    )
    op.create_index("ix_outbox_order", "outbox", ["order_id", "seq"], unique=True)
    op.create_index("ix_outbox_due", "outbox", ["delivered_at", "dead_at", "next_attempt_at"])


def downgrade() -> None:
    op.drop_table("outbox")
    op.drop_index("ix_orders_client", "orders")
    op.drop_column("orders", "client")
    for column in ("worker", "attempt", "stage"):
        op.drop_column("order_events", column)
