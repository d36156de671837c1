"""Menus that can be listed without their documents; history that is counted once, in steps (ADR 32)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0004"
branch_labels = None
depends_on = None

_HEADER = ["id", "version", "digest", "name", "currency", "language", "items", "sold_out", "created_at"]
_FILL = {
    "sqlite": """
        UPDATE menus SET
            currency = json_extract(document, '$.currency'),
            language = json_extract(document, '$.language'),
            items = json_array_length(document, '$.items'),
            sold_out = (SELECT count(*) FROM json_each(document, '$.items')
                        WHERE json_extract(value, '$.available') = 0)
    """,
    "postgresql": """
        UPDATE menus SET
            currency = document ->> 'currency',
            language = document ->> 'language',
            items = json_array_length(document -> 'items'),
            sold_out = (SELECT count(*) FROM json_array_elements(document -> 'items') AS item
                        WHERE item ->> 'available' = 'false')
    """,
}


def upgrade() -> None:
    texts = [
        sa.Column(name, sa.String, nullable=False, server_default="") for name in ("currency", "language")
    ]
    counts = [
        sa.Column(name, sa.Integer, nullable=False, server_default="0") for name in ("items", "sold_out")
    ]
    for column in texts + counts:
        op.add_column("menus", column)
    op.execute(_FILL[op.get_bind().dialect.name])
    # The defaults were for the rows that were there: a menu without a currency must not be stored by mistake.
    with op.batch_alter_table("menus") as menus:
        for column in texts + counts:
            menus.alter_column(column.name, server_default=None)
    op.create_index("ix_menus_header", "menus", _HEADER)


def downgrade() -> None:
    op.drop_index("ix_menus_header", "menus")
    for column in ("sold_out", "items", "language", "currency"):
        op.drop_column("menus", column)
