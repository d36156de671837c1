"""Menus, orders with their history, reviews, idempotency keys.

JSON and not JSONB: it keeps the order of keys, which in a menu's prices is the order of its sizes.
"""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

_time = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "menus",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("version", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("digest", sa.String, nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("document", sa.JSON, nullable=False),
        sa.Column("created_at", _time, nullable=False),
    )
    op.create_table(
        "orders",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("menu_id", sa.String, nullable=False),
        sa.Column("menu_version", sa.Integer, nullable=False),
        sa.Column("language", sa.String, nullable=False),
        sa.Column("audio_key", sa.String),
        sa.Column("audio_format", sa.String),
        sa.Column("transcript", sa.JSON),
        sa.Column("draft", sa.JSON),
        sa.Column("cart", sa.JSON),
        sa.Column("findings", sa.JSON, nullable=False),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("error", sa.JSON),
        sa.Column("metadata", sa.JSON),
        sa.Column("timings", sa.JSON, nullable=False),
        sa.Column("engine", sa.JSON, nullable=False),
        sa.Column("attempt", sa.Integer, nullable=False),
        sa.Column("lease_owner", sa.String),
        sa.Column("lease_until", _time),
        sa.Column("next_attempt_at", _time),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("updated_at", _time, nullable=False),
    )
    op.create_index("ix_orders_due", "orders", ["state", "updated_at"])
    op.create_index("ix_orders_listing", "orders", ["created_at", "id"])
    op.create_index("ix_orders_status_listing", "orders", ["state", "created_at", "id"])
    op.create_table(
        "order_events",
        sa.Column("order_id", sa.String, sa.ForeignKey("orders.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True, autoincrement=False),
        sa.Column("at", _time, nullable=False),
        sa.Column("type", sa.String, nullable=False),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("detail", sa.JSON, nullable=False),
    )
    op.create_table(
        "reviews",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("order_id", sa.String, sa.ForeignKey("orders.id"), nullable=False),
        sa.Column("status", sa.String, nullable=False),
        sa.Column("reasons", sa.JSON, nullable=False),
        sa.Column("version", sa.Integer, nullable=False),
        sa.Column("claimed_by", sa.String),
        sa.Column("lease_until", _time),
        sa.Column("decision", sa.String),
        sa.Column("decided_by", sa.String),
        sa.Column("decided_at", _time),
        sa.Column("reason", sa.String),
        sa.Column("proposed", sa.JSON),
        sa.Column("created_at", _time, nullable=False),
    )
    # An order goes to review once: every way out of review ends it.
    op.create_index("ix_reviews_order", "reviews", ["order_id"], unique=True)
    op.create_index("ix_reviews_queue", "reviews", ["status", "created_at", "id"])
    op.create_table(
        "order_codes",
        sa.Column("order_id", sa.String, sa.ForeignKey("orders.id"), primary_key=True),
        sa.Column("seq", sa.Integer, primary_key=True),
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("code", sa.String, primary_key=True),
    )
    op.create_index("ix_order_codes_code", "order_codes", ["kind", "code"])
    op.create_table(
        "idempotency",
        sa.Column("client", sa.String, primary_key=True),
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("body_hash", sa.String, nullable=False),
        sa.Column("order_id", sa.String, sa.ForeignKey("orders.id"), nullable=False),
        sa.Column("created_at", _time, nullable=False),
    )
    op.create_index("ix_idempotency_age", "idempotency", ["created_at"])


def downgrade() -> None:
    for table in ("idempotency", "order_codes", "reviews", "order_events", "orders", "menus"):
        op.drop_table(table)
