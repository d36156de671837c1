"""How long each shop keeps what, when an order's words were erased, and indexes of what is still to do."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0012"
down_revision = "0011"
branch_labels = None
depends_on = None

_ENDED = "state IN ('completed', 'rejected', 'failed', 'cancelled')"
_PARTIAL = {
    "ix_orders_with_recording": f"audio_key IS NOT NULL AND {_ENDED}",
    "ix_orders_with_words": f"erased_at IS NULL AND {_ENDED}",
}
_UNLISTED = "something that is not on the menu"
_KEPT = ("keep_recordings_days", "keep_transcripts_days", "keep_orders_days")


def upgrade() -> None:
    for column in _KEPT:
        op.add_column("shops", sa.Column(column, sa.Integer))
    op.add_column("orders", sa.Column("erased_at", sa.DateTime(timezone=True)))
    for name, condition in _PARTIAL.items():
        where = sa.text(condition)
        op.create_index(name, "orders", ["shop_id", "updated_at"], sqlite_where=where, postgresql_where=where)
    # Removing an order asks whether a key names it.
    op.create_index("ix_idempotency_order", "idempotency", ["order_id"])
    _take_words_out_of_tallies()


def _take_words_out_of_tallies() -> None:
    """What reviewers took off or changed was counted under its name, and what a menu lacks has none but the
    customer's words."""
    connection = op.get_bind()
    menus = sa.table("menus", sa.column("shop_id"), sa.column("document", sa.JSON))
    names: dict[str, set[str]] = {}
    for shop, document in connection.execute(sa.select(menus.c.shop_id, menus.c.document)):
        names.setdefault(shop, set()).update(item["name"] for item in document["items"])
    tallies = sa.table("review_tallies", *map(sa.column, ("shop_id", "hour", "kind", "code", "count")))
    # As text: an hour goes back as it came, whatever a driver makes of times.
    found = connection.execute(sa.select(tallies).where(tallies.c.kind == "change")).all()
    for shop, hour, kind, code, count in found:
        kept = _listed(code, names.get(shop, set()))
        if kept == code:
            continue
        key = (tallies.c.shop_id == shop, tallies.c.hour == hour, tallies.c.kind == kind)
        connection.execute(sa.delete(tallies).where(*key, tallies.c.code == code))
        more = sa.update(tallies).where(*key, tallies.c.code == kept).values(count=tallies.c.count + count)
        if not connection.execute(more).rowcount:
            row = {"shop_id": shop, "hour": hour, "kind": kind, "code": kept, "count": count}
            connection.execute(sa.insert(tallies).values(row))


def _listed(code: str, names: set[str]) -> str:
    """What was counted, with another name for what no menu of the shop has."""

    def named(name: str) -> str:
        return name if name in names else _UNLISTED

    for end in (" taken off", " added"):
        if code.endswith(end):
            return f"{named(code.removesuffix(end))}{end}"
    old, arrow, new = code.partition(" → ")
    if arrow:
        return code if code in names else f"{named(old)}{arrow}{named(new)}"
    of, number, name = code.partition("another number of ")
    return f"{number}{named(name)}" if number and not of else code


def downgrade() -> None:
    """What was erased stays so."""
    op.drop_index("ix_idempotency_order", "idempotency")
    for name in _PARTIAL:
        op.drop_index(name, "orders")
    op.drop_column("orders", "erased_at")
    for column in _KEPT:
        op.drop_column("shops", column)
