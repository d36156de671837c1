"""Indexes of what waits alone, and when each message of the outbox is to be looked at next (ADR 50)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from infra.migrations.steps import add_column, add_index, drop_column, drop_index

revision = "0014"
down_revision = "0013"
branch_labels = None
depends_on = None
serves_from = "0012"

_WAITS = "state IN ('received', 'transcribed', 'read', 'decoded')"
_LEFT = "state NOT IN ('received', 'transcribed', 'read', 'decoded')"
_MAY_GO_ON = "state IN ('proposed', 'in_review', 'failed')"
_OTHER = (
    "state NOT IN ('received', 'transcribed', 'read', 'decoded', 'proposed', 'in_review', 'failed', "
    "'completed', 'rejected', 'cancelled')"
)
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


def upgrade() -> None:
    due_at = sa.Column("due_at", sa.DateTime(timezone=True), server_default="1970-01-01 00:00:00+00")
    add_column("outbox", due_at)
    add_index("ix_outbox_open", "outbox", ["order_id", "seq"], where=_OPEN_OF_ORDER)
    op.execute(_DUE)
    op.execute(_BEHIND)
    add_index("ix_outbox_due_at", "outbox", ["due_at", "id"], where=_OPEN)
    add_index("ix_outbox_waiting", "outbox", ["created_at", "id"], where=_OPEN)
    add_index("ix_outbox_dead", "outbox", ["created_at", "id"], where=_DEAD)
    add_index("ix_outbox_delivered", "outbox", ["delivered_at"], where=_DELIVERED)
    add_index("ix_orders_waiting", "orders", ["updated_at", "id"], where=_WAITS)
    add_index("ix_orders_waiting_clients", "orders", ["shop_id", "client", "state"], where=_WAITS)
    add_index("ix_orders_left", "orders", ["updated_at"], where=_LEFT)
    add_index("ix_orders_may_go_on", "orders", ["state", "updated_at"], where=_MAY_GO_ON)
    add_index("ix_orders_other", "orders", ["state"], where=_OTHER)
    add_index("ix_reviews_undecided", "reviews", ["shop_id", "created_at", "id"], where=_UNDECIDED)
    drop_index("ix_outbox_due", "outbox")
    drop_index("ix_orders_due", "orders")
    drop_index("ix_orders_client", "orders")
    drop_index("ix_reviews_queue", "reviews")
    if op.get_context().dialect.name == "postgresql":
        # Room in each page for the version of a row that a claim makes; pages that are full stay so.
        op.execute("ALTER TABLE orders SET (fillfactor = 80)")


def downgrade() -> None:
    if op.get_context().dialect.name == "postgresql":
        op.execute("ALTER TABLE orders RESET (fillfactor)")
    add_index("ix_reviews_queue", "reviews", ["shop_id", "status", "created_at", "id"])
    add_index("ix_orders_client", "orders", ["shop_id", "client", "state"])
    add_index("ix_orders_due", "orders", ["state", "updated_at"])
    add_index("ix_outbox_due", "outbox", ["delivered_at", "dead_at", "next_attempt_at"])
    drop_index("ix_reviews_undecided", "reviews")
    for name in ("other", "may_go_on", "left", "waiting_clients", "waiting"):
        drop_index(f"ix_orders_{name}", "orders")
    for name in ("delivered", "dead", "waiting", "due_at", "open"):
        drop_index(f"ix_outbox_{name}", "outbox")
    drop_column("outbox", "due_at")
