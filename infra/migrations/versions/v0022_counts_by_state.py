"""Indexes that have all that counting orders by state asks: the shop too, which the policy wants (ADR 71)."""

from __future__ import annotations

from infra.migrations.steps import add_index, drop_index

revision = "0022"
down_revision = "0021"
branch_labels = None
depends_on = None
serves_from = "0012"

_MAY_GO_ON = "state IN ('proposed', 'in_review', 'failed')"
_OTHER = (
    "state NOT IN ('received', 'transcribed', 'read', 'decoded', 'proposed', 'in_review', 'failed', "
    "'completed', 'rejected', 'cancelled')"
)


def upgrade() -> None:
    add_index("ix_orders_may_go_on_shops", "orders", ["state", "shop_id"], where=_MAY_GO_ON)
    add_index("ix_orders_other_shops", "orders", ["state", "shop_id"], where=_OTHER)
    drop_index("ix_orders_other", "orders")  # what the one above holds, without the shop


def downgrade() -> None:
    add_index("ix_orders_other", "orders", ["state"], where=_OTHER)
    drop_index("ix_orders_other_shops", "orders")
    drop_index("ix_orders_may_go_on_shops", "orders")
