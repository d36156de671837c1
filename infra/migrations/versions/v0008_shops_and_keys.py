"""Shops and their keys. What is there belongs to the shop `main`; its accounts are all admins' (ADR 43)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0008"
down_revision = "0007"
branch_labels = None
depends_on = None

_TIME = sa.DateTime(timezone=True)
# Tables whose key begins with the shop: each is written anew, which is the one way on SQLite.
_KEYED = {
    "menus": ["id", "version"],
    "idempotency": ["client", "key"],
    "review_tallies": ["hour", "kind", "code"],
}
# Index -> table, columns before, columns after.
_INDEXES = {
    "ix_orders_status_listing": (
        "orders",
        ["state", "created_at", "id"],
        ["shop_id", "state", "created_at", "id"],
    ),
    "ix_orders_client": ("orders", ["client", "state"], ["shop_id", "client", "state"]),
    "ix_reviews_queue": (
        "reviews",
        ["status", "created_at", "id"],
        ["shop_id", "status", "created_at", "id"],
    ),
}
_HEADER = ["id", "version", "digest", "name", "currency", "language", "items", "sold_out", "created_at"]


def _shop() -> sa.Column[str]:
    # The default stays: a part of the release before, still at work while an upgrade rolls, knows one shop.
    return sa.Column("shop_id", sa.String, sa.ForeignKey("shops.id"), nullable=False, server_default="main")


def upgrade() -> None:
    op.create_table(
        "shops",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("created_at", _TIME, nullable=False),
    )
    op.execute("INSERT INTO shops (id, name, created_at) VALUES ('main', 'Main shop', CURRENT_TIMESTAMP)")
    for table in ("orders", "reviews", "staff"):
        _add(table, _shop())
    op.add_column("staff", sa.Column("role", sa.String, nullable=False, server_default="admin"))
    op.create_table(
        "api_keys",
        sa.Column("id", sa.String, primary_key=True),
        sa.Column("shop_id", sa.String, sa.ForeignKey("shops.id"), nullable=False),
        sa.Column("name", sa.String, nullable=False),
        sa.Column("family", sa.String, nullable=False),
        sa.Column("secret_hash", sa.String, nullable=True),
        sa.Column("scopes", sa.JSON, nullable=False),
        sa.Column("staff_id", sa.String, sa.ForeignKey("staff.id"), nullable=True),
        sa.Column("created_at", _TIME, nullable=False),
        sa.Column("expires_at", _TIME, nullable=True),
        sa.Column("revoked_at", _TIME, nullable=True),
        sa.Column("last_used_at", _TIME, nullable=True),
    )
    op.create_index("ix_api_keys_shop", "api_keys", ["shop_id", "created_at"])
    op.drop_index("ix_menus_header", "menus")
    op.drop_index("ix_idempotency_age", "idempotency")
    for table, key in _KEYED.items():
        _rewrite(table, ["shop_id", *key], _shop())
    op.create_index("ix_menus_header", "menus", ["shop_id", *_HEADER])
    op.create_index("ix_idempotency_age", "idempotency", ["created_at"])
    for name, (table, _, after) in _INDEXES.items():
        op.drop_index(name, table)
        op.create_index(name, table, after)
    op.create_index("ix_orders_shop_listing", "orders", ["shop_id", "created_at", "id"])


def _add(table: str, column: sa.Column[str]) -> None:
    """In place. Alembic would copy the table on SQLite, which needs no copy: see `Database.migrate`."""
    if op.get_bind().dialect.name == "sqlite":
        op.execute(
            f"ALTER TABLE {table} ADD COLUMN shop_id VARCHAR NOT NULL DEFAULT 'main' REFERENCES shops (id)"
        )
    else:
        op.add_column(table, column)


def _rewrite(table: str, key: list[str], column: sa.Column[str] | None) -> None:
    """The table with `column` in front, and another primary key; its rows stay."""
    here = op.get_bind()
    before = sa.Table(table, sa.MetaData(), autoload_with=here)
    kept = [old for old in before.columns if old.name in key or old.name != "shop_id"]
    columns = [sa.Column(old.name, old.type, nullable=old.nullable) for old in kept]
    links = [
        sa.ForeignKeyConstraint([link.parent.name], [link.target_fullname])
        for link in before.foreign_keys
        if link.parent.name in {old.name for old in kept}
    ]
    names = ", ".join(old.name for old in kept)
    op.rename_table(table, f"{table}_before")
    op.create_table(
        table, *([] if column is None else [column]), *columns, *links, sa.PrimaryKeyConstraint(*key)
    )
    op.execute(f"INSERT INTO {table} ({names}) SELECT {names} FROM {table}_before")  # noqa: S608 (names of ours)
    op.drop_table(f"{table}_before")


def downgrade() -> None:
    """Raises RuntimeError where there is more than one shop: their menus and keys would fall together."""
    shops = op.get_bind().execute(sa.text("SELECT count(*) FROM shops WHERE id <> 'main'")).scalar_one()
    if shops:
        raise RuntimeError(f"{shops} more shops than `main`: their rows have no place in the release before")
    op.drop_index("ix_orders_shop_listing", "orders")
    for name, (table, before, _) in _INDEXES.items():
        op.drop_index(name, table)
        op.create_index(name, table, before)
    op.drop_index("ix_menus_header", "menus")
    op.drop_index("ix_idempotency_age", "idempotency")
    for table, key in _KEYED.items():
        _rewrite(table, key, None)
    op.create_index("ix_menus_header", "menus", _HEADER)
    op.create_index("ix_idempotency_age", "idempotency", ["created_at"])
    op.drop_table("api_keys")
    op.drop_column("staff", "role")
    for table in ("orders", "reviews", "staff"):
        # As a whole table on SQLite, which drops no column that is a foreign key.
        with op.batch_alter_table(table) as batch:
            batch.drop_column("shop_id")
    op.drop_table("shops")
