"""Shops that have their menus from another: which one, and what of a menu version is the shop's own."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0018"
down_revision = "0017"
branch_labels = None
depends_on = None


def upgrade() -> None:
    # No foreign key: it would be checked under a lock on both tables, and shops are never removed.
    op.add_column("shops", sa.Column("menus_of", sa.String))
    op.add_column("menus", sa.Column("base_shop", sa.String))
    op.add_column("menus", sa.Column("base_version", sa.Integer))


def downgrade() -> None:
    """Versions that are a shop's own part of a chain's menu can't be read by what was there before."""
    op.drop_column("menus", "base_version")
    op.drop_column("menus", "base_shop")
    op.drop_column("shops", "menus_of")
