"""Row security on PostgreSQL: each table with rows of shops shows and takes the rows of the shop alone that a
transaction names (ADR 58)."""

from __future__ import annotations

from alembic import op

WHOSE = "(SELECT current_setting('saycart.shop', true))"
"""The shop that a transaction names, or `*` for all; NULL or empty where it names none."""
BY_SHOP = f"shop_id = {WHOSE}"
BY_ORDER = "EXISTS (SELECT 1 FROM orders WHERE orders.id = order_id)"
BY_REVIEW = "EXISTS (SELECT 1 FROM reviews WHERE reviews.id = review_id)"
BY_STAFF = "EXISTS (SELECT 1 FROM staff WHERE staff.id = staff_id)"
"""A row belongs to the shop of the row that it hangs on, which is looked for under its own policy."""


def add_policy(table: str, belongs: str) -> None:
    """Hold everybody but superusers to the rows of a table that meet `belongs`. On SQLite nothing."""
    if op.get_context().dialect.name == "sqlite":
        return
    # To the planner CASE is half of all rows. OR would be nearly none, also for who sees all.
    allows = f"CASE {WHOSE} WHEN '*' THEN true ELSE {belongs} END"
    op.execute(f"CREATE POLICY saycart_shop ON {table} USING ({allows}) WITH CHECK ({allows})")
    op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")
