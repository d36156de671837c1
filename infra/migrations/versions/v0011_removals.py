"""Recordings that nobody needs any more, to be removed; now those of cancelled, refused orders."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0011"
down_revision = "0010"
branch_labels = None
depends_on = None

# The codes of `AudioRefused` as this version has them: a migration reads no code that may change.
_REFUSED = ("audio_damaged", "audio_too_costly", "audio_too_large", "audio_too_long", "unsupported_audio")
_CODE = {"sqlite": "json_extract(error, '$.code')", "postgresql": "error ->> 'code'"}


def upgrade() -> None:
    op.create_table(
        "removals",
        sa.Column("key", sa.String, primary_key=True),
        sa.Column("order_id", sa.String, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
    )
    op.create_index("ix_removals_order", "removals", ["order_id"])
    code = _CODE[op.get_bind().dialect.name]
    refused = ", ".join(f"'{name}'" for name in _REFUSED)
    over = f"audio_key IS NOT NULL AND (state = 'cancelled' OR (state = 'failed' AND {code} IN ({refused})))"
    op.execute(
        "INSERT INTO removals (key, order_id, at) SELECT audio_key, min(id), min(updated_at) "  # noqa: S608
        f"FROM orders WHERE {over} GROUP BY audio_key"
    )
    op.execute(f"UPDATE orders SET audio_key = NULL WHERE {over}")  # noqa: S608


def downgrade() -> None:
    """The files are gone, and so are their names."""
    op.drop_index("ix_removals_order", "removals")
    op.drop_table("removals")
