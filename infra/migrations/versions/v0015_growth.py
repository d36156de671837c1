"""Indexes of what waits alone, and when each message of the outbox is to be looked at next (ADR 50)."""

from __future__ import annotations

from typing import Any

import sqlalchemy as sa
from alembic import op

revision = "0015"
down_revision = "0012"
branch_labels = None
depends_on = None

_WAITS = "state IN ('received', 'transcribed', 'read', 'decoded')"
_LEFT = "state NOT IN ('received', 'transcribed', 'read', 'decoded')"
_MAY_GO_ON = "state IN ('proposed', 'in_review', 'failed')"
_UNDECIDED = "status IN ('open', 'claimed')"
_OPEN = "delivered_at IS NULL AND dead_at IS NULL"
# As `_OPEN`, for queries about one order: see `tables.py`.
_OPEN_OF_ORDER = "coalesce(delivered_at, dead_at) IS NULL"
_DEAD, _DELIVERED = "dead_at IS NOT NULL", "delivered_at IS NOT NULL"
# All that is open is due once its wait or its lease is over, but for what waits behind another of its order.
# As two updates: as a CASE over "is it the first?" PostgreSQL took 12 minutes for 200,000.
_DUE = """
    UPDATE outbox SET due_at = coalesce(lease_until, next_attempt_at, created_at)
    WHERE delivered_at IS NULL AND dead_at IS NULL
"""
_BEHIND = """
    UPDATE outbox SET due_at = NULL
    WHERE delivered_at IS NULL AND dead_at IS NULL AND EXISTS (
        SELECT 1 FROM outbox AS other WHERE other.order_id = outbox.order_id AND other.seq < outbox.seq
        AND coalesce(other.delivered_at, other.dead_at) IS NULL
    )
"""


def _where(condition: str) -> dict[str, Any]:
    return {"sqlite_where": sa.text(condition), "postgresql_where": sa.text(condition)}


def upgrade() -> None:
    due_at = sa.Column("due_at", sa.DateTime(timezone=True), server_default="1970-01-01 00:00:00+00")
    op.add_column("outbox", due_at)
    op.create_index("ix_outbox_open", "outbox", ["order_id", "seq"], **_where(_OPEN_OF_ORDER))
    op.execute(_DUE)
    op.execute(_BEHIND)
    op.create_index("ix_outbox_due_at", "outbox", ["due_at", "id"], **_where(_OPEN))
    op.create_index("ix_outbox_waiting", "outbox", ["created_at", "id"], **_where(_OPEN))
    op.create_index("ix_outbox_dead", "outbox", ["created_at", "id"], **_where(_DEAD))
    op.create_index("ix_outbox_delivered", "outbox", ["delivered_at"], **_where(_DELIVERED))
    op.create_index("ix_orders_waiting", "orders", ["updated_at", "id"], **_where(_WAITS))
    op.create_index("ix_orders_waiting_clients", "orders", ["shop_id", "client", "state"], **_where(_WAITS))
    op.create_index("ix_orders_left", "orders", ["updated_at"], **_where(_LEFT))
    op.create_index("ix_orders_may_go_on", "orders", ["state", "updated_at"], **_where(_MAY_GO_ON))
    op.create_index("ix_reviews_undecided", "reviews", ["shop_id", "created_at", "id"], **_where(_UNDECIDED))
    op.drop_index("ix_outbox_due", "outbox")
    op.drop_index("ix_orders_due", "orders")
    op.drop_index("ix_orders_client", "orders")
    op.drop_index("ix_reviews_queue", "reviews")
    if op.get_bind().dialect.name == "postgresql":
        # Room in each page for the version of a row that a claim makes; pages that are full stay so.
        op.execute("ALTER TABLE orders SET (fillfactor = 80)")


def downgrade() -> None:
    if op.get_bind().dialect.name == "postgresql":
        op.execute("ALTER TABLE orders RESET (fillfactor)")
    op.create_index("ix_reviews_queue", "reviews", ["shop_id", "status", "created_at", "id"])
    op.create_index("ix_orders_client", "orders", ["shop_id", "client", "state"])
    op.create_index("ix_orders_due", "orders", ["state", "updated_at"])
    op.create_index("ix_outbox_due", "outbox", ["delivered_at", "dead_at", "next_attempt_at"])
    op.drop_index("ix_reviews_undecided", "reviews")
    for name in ("may_go_on", "left", "waiting_clients", "waiting"):
        op.drop_index(f"ix_orders_{name}", "orders")
    for name in ("delivered", "dead", "waiting", "due_at", "open"):
        op.drop_index(f"ix_outbox_{name}", "outbox")
    op.drop_column("outbox", "due_at")
