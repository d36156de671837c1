"""Sign-in by a provider (OpenID Connect): who an account is there, what is under way, how a session began."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from infra.migrations.steps import BY_STAFF, add_column, add_policy, drop_column

revision = "0019"
down_revision = "0018"
branch_labels = None
depends_on = None
serves_from = "0012"

_time = sa.DateTime(timezone=True)


def upgrade() -> None:
    add_column("staff_sessions", sa.Column("id_token", sa.String))
    op.create_table(
        "staff_oidc",
        sa.Column("staff_id", sa.String, sa.ForeignKey("staff.id"), primary_key=True),
        sa.Column("issuer", sa.String, nullable=False),
        sa.Column("subject", sa.String),
        sa.Column("email", sa.String),
        sa.Column("bound_at", _time),
        if_not_exists=True,
    )
    op.create_index(
        "ix_staff_oidc_subject", "staff_oidc", ["issuer", "subject"], unique=True, if_not_exists=True
    )
    op.create_index("ix_staff_oidc_email", "staff_oidc", ["issuer", "email"], unique=True, if_not_exists=True)
    op.create_table(
        "oidc_flows",
        sa.Column("token_hash", sa.String, primary_key=True),
        sa.Column("after", sa.String, nullable=False),
        sa.Column("device", sa.String, nullable=False),
        sa.Column("expires_at", _time, nullable=False),
        if_not_exists=True,
    )
    op.create_index("ix_oidc_flows_age", "oidc_flows", ["expires_at"], if_not_exists=True)
    add_policy("staff_oidc", BY_STAFF)


def downgrade() -> None:
    """Accounts that the provider alone let in have no password: give them one, or none gets in."""
    drop_column("staff_sessions", "id_token")
    op.drop_table("oidc_flows")
    op.drop_table("staff_oidc")
