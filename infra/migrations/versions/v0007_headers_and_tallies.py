"""Menus that can be listed without their documents; history that is counted once, in steps (ADR 32)."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0007"
down_revision = "0006"
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

# A minute ago, and on PostgreSQL before the oldest transaction that runs: as `Database.quiet_since`.
_QUIET = {
    "sqlite": "SELECT strftime('%Y-%m-%d %H:%M:%f000', 'now', '-60 seconds')",
    "postgresql": """
        SELECT least(clock_timestamp() - interval '60 seconds', min(xact_start)) FROM pg_stat_activity
        WHERE datname = current_database() AND backend_type = 'client backend' AND pid <> pg_backend_pid()
    """,
}
# All history at once, which takes seconds; in its steps the sweeper would take minutes, with slow scrapes.
_FOLD = [
    "INSERT INTO tallies SELECT 'event', type, count(*) FROM order_events WHERE at < :quiet GROUP BY type",
    """
        INSERT INTO tallies SELECT kind, code, count(*)
        FROM order_codes JOIN order_events USING (order_id, seq)
        WHERE at < :quiet AND kind NOT IN ('dropped', 'extra_run') GROUP BY kind, code
    """,
    "INSERT INTO tallies SELECT 'message', 'delivered', count(*) FROM outbox WHERE delivered_at < :quiet",
]
_MARK = "INSERT INTO tally_marks VALUES (:name, :quiet)"


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
    op.create_index("ix_order_events_at", "order_events", ["at", "type"])
    _time = sa.DateTime(timezone=True)
    op.create_table(
        "tallies",
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("code", sa.String, primary_key=True),
        sa.Column("count", sa.BigInteger, nullable=False),
    )
    op.create_table(
        "tally_marks",
        sa.Column("name", sa.String, primary_key=True),
        sa.Column("until", _time, nullable=False),
    )
    op.create_table(
        "review_tallies",
        sa.Column("hour", _time, primary_key=True),
        sa.Column("kind", sa.String, primary_key=True),
        sa.Column("code", sa.String, primary_key=True),
        sa.Column("count", sa.Integer, nullable=False),
    )
    _fold()


def _fold() -> None:
    """Tallies of what is there. Decisions of reviewers are left to the sweeper: it can read their carts."""
    here = op.get_bind()
    if here.execute(sa.text("SELECT 1 FROM order_events LIMIT 1")).first() is None:
        return
    quiet = here.execute(sa.text(_QUIET[here.dialect.name])).scalar_one()
    for statement in _FOLD:
        here.execute(sa.text(statement), {"quiet": quiet})
    for name in ("history", "delivered"):
        here.execute(sa.text(_MARK), {"name": name, "quiet": quiet})


def downgrade() -> None:
    for table in ("review_tallies", "tally_marks", "tallies"):
        op.drop_table(table)
    op.drop_index("ix_order_events_at", "order_events")
    op.drop_index("ix_menus_header", "menus")
    for column in ("sold_out", "items", "language", "currency"):
        op.drop_column("menus", column)
