"""Row-level security on PostgreSQL: transactions access only the rows of the shop they name (ADR 58)."""

from __future__ import annotations

from alembic import op

NAMED_SHOP = "(SELECT current_setting('saycart.shop', true))"
"""The shop that a transaction names, or `*` for all; NULL or empty if it names none."""
BY_SHOP = f"shop_id = {NAMED_SHOP}"
BY_ORDER = "EXISTS (SELECT 1 FROM orders WHERE orders.id = order_id)"
BY_REVIEW = "EXISTS (SELECT 1 FROM reviews WHERE reviews.id = review_id)"
BY_STAFF = "EXISTS (SELECT 1 FROM staff WHERE staff.id = staff_id)"
"""The referenced row is looked up under its own policy."""


def add_policy(table: str, belongs: str) -> None:
    """Restrict everyone except superusers to rows that meet the condition. No effect on SQLite."""
    if op.get_context().dialect.name == "sqlite":
        return
    # The planner takes CASE for half of all rows, and OR for nearly none even if all are visible.
    allows = f"CASE {NAMED_SHOP} WHEN '*' THEN true ELSE {belongs} END"
    op.execute(f"CREATE POLICY saycart_shop ON {table} USING ({allows}) WITH CHECK ({allows})")
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
