"""Clocks by which waiting orders take turns, and whose turn each order takes."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from infra.migrations.steps import add_column, add_policy, drop_column

revision = "0023"
down_revision = "0022"
branch_labels = None
depends_on = None
serves_from = "0012"


def upgrade() -> None:
    op.create_table(
        "turns",
        sa.Column("shop_id", sa.String, sa.ForeignKey("shops.id"), primary_key=True, server_default="main"),
        sa.Column("source", sa.String, primary_key=True),
        sa.Column("begun", sa.Double, nullable=False),
        sa.Column("spent", sa.Double, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        if_not_exists=True,
    )
    shops = sa.text("source = ''")
    op.create_index(
        "ix_turns_shops",
        "turns",
        ["begun"],
        sqlite_where=shops,
        postgresql_where=shops,
        if_not_exists=True,
    )
    add_policy("turns")
    add_column("orders", sa.Column("source", sa.String))


def downgrade() -> None:
    drop_column("orders", "source")
    op.drop_index("ix_turns_shops", "turns")
    op.drop_table("turns")
