"""Where the acceptance of each order stands in its trace, so that all of its stages can join it."""

from __future__ import annotations

import sqlalchemy as sa

from infra.migrations.steps import add_column, drop_column

revision = "0015"
down_revision = "0014"
branch_labels = None
depends_on = None
serves_from = "0012"


def upgrade() -> None:
    add_column("orders", sa.Column("traceparent", sa.String))


def downgrade() -> None:
    drop_column("orders", "traceparent")
