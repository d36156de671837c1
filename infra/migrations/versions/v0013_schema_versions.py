"""Which releases may work on the tables of each revision: read by those that do not know it (ADR 49)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0013"
down_revision = "0012"
branch_labels = None
depends_on = None
serves_from = "0012"


def upgrade() -> None:
    op.create_table(
        "schema_versions",
        sa.Column("revision", sa.String, primary_key=True),
        sa.Column("serves_from", sa.String, nullable=False),
    )


def downgrade() -> None:
    op.drop_table("schema_versions")
