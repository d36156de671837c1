"""Staff accounts with their sessions; what reviewers did, append-only; a first reviewer's decision."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

_time = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "staff",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("password_hash", sa.String, nullable=False),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("disabled_at", _time),
    )
    op.create_index("ix_staff_name", "staff", ["name"], unique=True)
    op.create_table(
        "staff_sessions",
        sa.Column("token_hash", sa.String, primary_key=True),
        sa.Column("staff_id", sa.String, sa.ForeignKey("staff.id"), nullable=False),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("expires_at", _time, nullable=False),
    )
    op.create_index("ix_staff_sessions_staff", "staff_sessions", ["staff_id"])
    # By the name that was typed, whether or not anybody has it: no foreign key.
    op.create_table(
        "sign_ins",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("last_at", _time, nullable=False),
    )
    op.create_table(
        "review_records",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("review_id", sa.String, sa.ForeignKey("reviews.id"), nullable=False),
        sa.Column("at", _time, nullable=False),
        sa.Column("actor", sa.String, nullable=False),
        sa.Column("action", sa.String, nullable=False),
        sa.Column("before", sa.JSON),
        sa.Column("after", sa.JSON),
        sa.Column("reason", sa.String),
        sa.Column("detail", sa.JSON, nullable=False),
    )
    op.create_index("ix_review_records_review", "review_records", ["review_id", "at", "id"])
    op.create_index("ix_review_records_action", "review_records", ["action", "at"])
    op.add_column("reviews", sa.Column("standing", sa.JSON))


def downgrade() -> None:
    op.drop_column("reviews", "standing")
    for table in ("review_records", "sign_ins", "staff_sessions", "staff"):
        op.drop_table(table)
