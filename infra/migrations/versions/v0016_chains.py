"""Shops that have their menus from another: which one, and what of a menu version is the shop's own."""

from __future__ import annotations

import sqlalchemy as sa

from infra.migrations.steps import add_column, drop_column

revision = "0016"
down_revision = "0015"
branch_labels = None
depends_on = None
serves_from = "0012"


def upgrade() -> None:
    # No foreign key: it would be checked under a lock on both tables, and shops are never removed.
    add_column("shops", sa.Column("menus_of", sa.String))
    add_column("menus", sa.Column("base_shop", sa.String))
    add_column("menus", sa.Column("base_version", sa.BigInteger))


def downgrade() -> None:
    """Versions that are a shop's own part of a chain's menu can't be read by what was there before."""
    drop_column("menus", "base_version")
    drop_column("menus", "base_shop")
    drop_column("shops", "menus_of")
