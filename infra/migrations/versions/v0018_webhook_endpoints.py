"""Webhook endpoints of shops, and which of them a message of the outbox is for (ADR 59)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from infra.migrations.steps import add_column, add_index, add_policy, drop_column, drop_index

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None
serves_from = "0012"

_time = sa.DateTime(timezone=True)
_OPEN = "delivered_at IS NULL AND dead_at IS NULL"
_OPEN_OF_ORDER = "coalesce(delivered_at, dead_at) IS NULL"


def upgrade() -> None:
    op.create_table(
        "webhook_endpoints",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("shop_id", sa.String, sa.ForeignKey("shops.id"), nullable=False),
        sa.Column("url", sa.String, nullable=False),
        sa.Column("secret", sa.String, nullable=False),
        sa.Column("old_secret", sa.String),
        sa.Column("old_secret_until", _time),
        sa.Column("events", sa.JSON),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("disabled_at", _time),
        sa.Column("test_asked_at", _time),
        sa.Column("test_sent_at", _time),
        sa.Column("test_error", sa.String),
        if_not_exists=True,
    )
    op.create_index(
        "ix_webhook_endpoints_shop", "webhook_endpoints", ["shop_id", "created_at"], if_not_exists=True
    )
    add_policy("webhook_endpoints")
    # Empty is the deployment's own URL, as what is there and what the release before writes.
    add_column("outbox", sa.Column("endpoint_id", sa.String, nullable=False, server_default=""))
    add_column("outbox", sa.Column("withdrawn_at", _time))
    add_index("ix_outbox_place", "outbox", ["order_id", "endpoint_id", "seq"], unique=True)
    add_index("ix_outbox_endpoint_due", "outbox", ["endpoint_id", "due_at", "id"], where=_OPEN)
    add_index("ix_outbox_first", "outbox", ["order_id", "endpoint_id", "seq"], where=_OPEN_OF_ORDER)
    drop_index("ix_outbox_order", "outbox")
    drop_index("ix_outbox_open", "outbox")
    drop_index("ix_outbox_due_at", "outbox")


def downgrade() -> None:
    """Messages to endpoints of shops go: the release before would send them to the deployment's URL."""
    op.execute("DELETE FROM outbox WHERE endpoint_id <> ''")
    add_index("ix_outbox_due_at", "outbox", ["due_at", "id"], where=_OPEN)
    add_index("ix_outbox_open", "outbox", ["order_id", "seq"], where=_OPEN_OF_ORDER)
    add_index("ix_outbox_order", "outbox", ["order_id", "seq"], unique=True)
    drop_index("ix_outbox_first", "outbox")
    drop_index("ix_outbox_endpoint_due", "outbox")
    drop_index("ix_outbox_place", "outbox")
    drop_column("outbox", "withdrawn_at")
    drop_column("outbox", "endpoint_id")
    op.drop_index("ix_webhook_endpoints_shop", "webhook_endpoints")
    op.drop_table("webhook_endpoints")
