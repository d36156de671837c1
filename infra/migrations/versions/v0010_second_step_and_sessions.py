"""Sign-in: attempts by what they count against, known devices, a second step, sessions with their use."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0010"
down_revision = "0009"
branch_labels = None
depends_on = None

_time = sa.DateTime(timezone=True)


def _staff(*, primary_key: bool = False) -> sa.Column[str]:
    return sa.Column(
        "staff_id", sa.String, sa.ForeignKey("staff.id"), nullable=False, primary_key=primary_key
    )


def upgrade() -> None:
    # Whoever is signed in does so once more: old sessions don't know where they came from.
    op.drop_table("staff_sessions")
    op.create_table(
        "staff_sessions",
        sa.Column("token_hash", sa.String, primary_key=True),
        sa.Column("id", sa.String, nullable=False),
        _staff(),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("used_at", _time, nullable=False),
        sa.Column("expires_at", _time, nullable=False),
        sa.Column("address", sa.String, nullable=False),
        sa.Column("browser", sa.String, nullable=False),
    )
    op.create_table(
        "staff_challenges",
        sa.Column("token_hash", sa.String, primary_key=True),
        _staff(),
        sa.Column("expires_at", _time, nullable=False),
    )
    op.create_table(
        "staff_devices",
        sa.Column("token_hash", sa.String, primary_key=True),
        _staff(),
        sa.Column("used_at", _time, nullable=False),
    )
    for table in ("staff_sessions", "staff_challenges", "staff_devices"):
        op.create_index(f"ix_{table}_staff", table, ["staff_id"])
    op.create_table(
        "staff_totp",
        _staff(primary_key=True),
        sa.Column("secret", sa.String, nullable=False),
        sa.Column("begun_by", sa.String, nullable=False),
        sa.Column("confirmed_at", _time),
        sa.Column("last_step", sa.BigInteger),
    )
    op.create_table(
        "staff_recovery_codes",
        _staff(primary_key=True),
        sa.Column("code_hash", sa.String, primary_key=True),
    )
    op.drop_table("sign_ins")
    op.create_table(
        "sign_in_attempts",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("last_at", _time, nullable=False),
    )
    op.create_index("ix_sign_in_attempts_age", "sign_in_attempts", ["last_at"])


def downgrade() -> None:
    for table in (
        "sign_in_attempts",
        "staff_recovery_codes",
        "staff_totp",
        "staff_devices",
        "staff_challenges",
        "staff_sessions",
    ):
        op.drop_table(table)
    op.create_table(
        "sign_ins",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("attempts", sa.Integer, nullable=False),
        sa.Column("last_at", _time, nullable=False),
    )
    op.create_table(
        "staff_sessions",
        sa.Column("token_hash", sa.String, primary_key=True),
        _staff(),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("expires_at", _time, nullable=False),
    )
    op.create_index("ix_staff_sessions_staff", "staff_sessions", ["staff_id"])
