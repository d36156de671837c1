"""Policies by which PostgreSQL itself keeps shops apart (ADR 58). Nobody is held to them by this: the release
before names no shop, and would see no rows. `saycart migrate --row-security on` does that."""

from __future__ import annotations

from alembic import op

from infra.migrations.steps import BY_ORDER, BY_REVIEW, BY_SHOP, BY_STAFF, WHOSE, add_policy, drop_policies

revision = "0017"
down_revision = "0016"
branch_labels = None
depends_on = None
serves_from = "0012"

TABLES = {
    "shops": f"id = {WHOSE}",
    **dict.fromkeys(
        ("api_keys", "audit_log", "idempotency", "menus", "orders", "review_tallies", "reviews", "staff"),
        BY_SHOP,
    ),
    **dict.fromkeys(("order_codes", "order_events", "outbox", "removals"), BY_ORDER),
    "review_records": BY_REVIEW,
    **dict.fromkeys(
        ("staff_challenges", "staff_devices", "staff_recovery_codes", "staff_sessions", "staff_totp"),
        BY_STAFF,
    ),
}
# Shops whose menus a shop's own are made of, now or formerly. It looks at all rows, which a policy on `menus`
# that looked at `menus` could not: it would ask itself for ever. Only a superuser may give a function a
# setting of ours (SET in its head), so it sets and restores; an error ends the transaction, and it with that.
CHAINS = """
    CREATE OR REPLACE FUNCTION saycart_chains(shop text) RETURNS text[]
    LANGUAGE plpgsql STABLE SET search_path FROM CURRENT AS $$
    DECLARE
        whose text := current_setting('saycart.shop', true);
        chains text[];
    BEGIN
        PERFORM set_config('saycart.shop', '*', true);
        chains := ARRAY(
            SELECT menus_of FROM shops WHERE id = shop AND menus_of IS NOT NULL
            UNION SELECT base_shop FROM menus WHERE shop_id = shop AND base_shop IS NOT NULL
        );
        PERFORM set_config('saycart.shop', whose, true);
        RETURN chains;
    END $$
"""


def upgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        return
    op.execute(CHAINS)
    for table, belongs in TABLES.items():
        reads = f"shop_id = ANY ((SELECT saycart_chains({WHOSE}))::text[])" if table == "menus" else ""
        add_policy(table, belongs, reads=reads, in_use=True)


def downgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        return
    for table in TABLES:
        drop_policies(table)
    op.execute("DROP FUNCTION saycart_chains")
    op.execute("DELETE FROM schema_versions WHERE revision = '0017.held'")
