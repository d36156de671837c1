"""Names that a model suggested for things of menus, and what staff decided about suggested names (ADR 67)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from infra.migrations.steps import add_policy

revision = "0021"
down_revision = "0020"
branch_labels = None
depends_on = None
serves_from = "0012"

_time = sa.DateTime(timezone=True)


def upgrade() -> None:
    op.create_table(
        "name_suggestions",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("shop_id", sa.String, sa.ForeignKey("shops.id"), nullable=False),
        sa.Column("menu_id", sa.String, nullable=False),
        sa.Column("thing", sa.String, nullable=False),
        sa.Column("source", sa.String, nullable=False),
        sa.Column("mark", sa.String, nullable=False),
        sa.Column("words", sa.String),
        sa.Column("state", sa.String, nullable=False),
        sa.Column("decided_by", sa.String),
        sa.Column("created_at", _time, nullable=False),
        sa.Column("decided_at", _time),
        if_not_exists=True,
    )
    op.create_index(
        "ix_name_suggestions_menu", "name_suggestions", ["shop_id", "menu_id"], if_not_exists=True
    )
    add_policy("name_suggestions")


def downgrade() -> None:
    """Names that were refused may be suggested again."""
    op.drop_table("name_suggestions")
