"""The evidence of an order, kept beside its draft; the stage `triage` is part of `validate`."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column("orders", sa.Column("evidence", sa.JSON))
    # What waited for triage is validated anew, which costs milliseconds. The version grows, so that a worker
    # of the release before can't move it from where it is no more.
    op.execute(
        "UPDATE orders SET state = 'decoded', version = version + 1, lease_owner = NULL, lease_until = NULL "
        "WHERE state = 'validated'"
    )


def downgrade() -> None:
    op.execute(
        "UPDATE orders SET state = 'transcribed', version = version + 1, lease_owner = NULL, "
        "lease_until = NULL WHERE state = 'read'"
    )
    op.drop_column("orders", "evidence")
