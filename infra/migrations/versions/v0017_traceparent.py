"""Where the acceptance of each order stands in its trace, so that all of its stages can join it."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0017"
down_revision = "0014"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("orders", sa.Column("traceparent", sa.String))


def downgrade() -> None:
    op.drop_column("orders", "traceparent")
