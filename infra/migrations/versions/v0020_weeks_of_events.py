"""Events in partitions by the week of their order, on PostgreSQL (ADR 65). SQLite has one table, as it had.

The table of before is taken as it lies for the partition of all that comes before some Monday; no row is
written. The functions are the owner's, so that a sweeper whose role owns nothing can make and drop weeks.
"""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import sqlalchemy as sa
from alembic import op

from infra.migrations.steps import BY_ORDER, WHOSE, add_check, held_to

revision = "0020"
down_revision = "0019"
branch_labels = None
depends_on = None
serves_from = "0012"

# What an order of before comes under must not end while this migrates, or lies half done: 7 to 14 days.
_AHEAD_DAYS = 7
_DIGITS = "0123456789abcdefghjkmnpqrstvwxyz"
_CHECK = (
    "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
    "WHERE conname = 'order_events_before' AND conrelid = to_regclass('order_events')"
)
# A partition that is asked by its own name shows nothing but to those who serve all. Asked by the parent, as
# everything of ours does, the parent's policy holds. Whoever may read the parent may read this: a dump asks
# each partition.
_LIKE_ITS_PARENT = """
    CREATE OR REPLACE FUNCTION saycart_like_events(made regclass, sample regclass) RETURNS void
    LANGUAGE plpgsql SET search_path FROM CURRENT AS $$
    DECLARE
        given record;
    BEGIN
        FOR given IN SELECT a.grantee::regrole AS who, string_agg(a.privilege_type, ', ') AS what
            FROM pg_class AS c, aclexplode(c.relacl) AS a
            WHERE c.oid = sample AND a.grantee NOT IN (0, c.relowner) GROUP BY 1
        LOOP
            EXECUTE format('GRANT %s ON %s TO %s', given.what, made, given.who);
        END LOOP;
        IF NOT EXISTS (SELECT 1 FROM pg_policy WHERE polrelid = made) THEN
            EXECUTE format($p$CREATE POLICY saycart_shop ON %s USING ({whose} = '*')$p$, made);
        END IF;
        IF (SELECT relrowsecurity AND relforcerowsecurity FROM pg_class WHERE oid = sample) THEN
            EXECUTE format('ALTER TABLE %s ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY', made);
        END IF;
    END $$
"""
# `orders` is locked first, since the foreign key needs it, and whoever writes takes it first too.
_ADD = """
    CREATE OR REPLACE FUNCTION saycart_add_events(name text, first text, beyond text) RETURNS void
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
    BEGIN
        IF name !~ '^order_events_[0-9]{8}$' THEN
            RAISE EXCEPTION 'no name of a partition: %', name;
        END IF;
        LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;
        EXECUTE format('CREATE TABLE %I (LIKE order_events INCLUDING DEFAULTS)', name);
        EXECUTE format(
            'ALTER TABLE order_events ATTACH PARTITION %I FOR VALUES FROM (%L) TO (%L)', name, first, beyond);
        PERFORM saycart_like_events(name::regclass, 'order_events');
    END $$
"""
# No order, no event: the foreign key says so. Asked again under the lock, which waits for all who write
# events; who has written the order alone so far writes its events after this, to the partition of the rest.
_DROP = """
    CREATE OR REPLACE FUNCTION saycart_drop_events(name text) RETURNS boolean
    LANGUAGE plpgsql SECURITY DEFINER SET search_path FROM CURRENT SET lock_timeout = '200ms' AS $$
    DECLARE
        range text := (
            SELECT pg_get_expr(c.relpartbound, c.oid)
            FROM pg_class AS c JOIN pg_inherits AS i ON i.inhrelid = c.oid
            WHERE i.inhparent = 'order_events'::regclass AND c.relname = name
        );
        first text := coalesce(substring(range FROM 'FROM \\(''([^'']*)''\\)'), '');
        beyond text := substring(range FROM 'TO \\(''([^'']*)''\\)');
    BEGIN
        IF beyond IS NULL THEN
            RAISE EXCEPTION 'no partition with an end: %', name;
        END IF;
        IF current_setting('saycart.shop', true) IS DISTINCT FROM '*' THEN
            RAISE EXCEPTION 'orders of all shops have to be seen';
        END IF;
        LOCK TABLE ONLY order_events IN ACCESS EXCLUSIVE MODE;
        IF EXISTS (SELECT 1 FROM orders WHERE id >= first AND id < beyond) THEN
            RETURN false;
        END IF;
        EXECUTE format('DROP TABLE %I', name);
        RETURN true;
    END $$
"""
# All in one transaction: whoever asks for the table meanwhile waits, and finds one of the same name. Of a
# table with the check nothing is read. Ids that are not ours and sort behind the bound go to the rest.
_SWAP = """
    DO $$ BEGIN
        LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;
        LOCK TABLE order_events IN ACCESS EXCLUSIVE MODE;
        ALTER TABLE order_events RENAME TO order_events_before;
        ALTER INDEX order_events_pkey RENAME TO order_events_before_pkey;
        ALTER INDEX ix_order_events_at RENAME TO ix_order_events_before_at;
        CREATE TABLE order_events (LIKE order_events_before INCLUDING DEFAULTS) PARTITION BY RANGE (order_id);
        ALTER TABLE order_events ADD PRIMARY KEY (order_id, seq),
            ADD FOREIGN KEY (order_id) REFERENCES orders (id);
        CREATE INDEX ix_order_events_at ON order_events (at, type);
        CREATE POLICY saycart_shop ON order_events USING ({allows}) WITH CHECK ({allows});
        PERFORM saycart_like_events('order_events', 'order_events_before');
        CREATE TABLE order_events_rest PARTITION OF order_events DEFAULT;
        PERFORM saycart_like_events('order_events_rest', 'order_events');
        INSERT INTO order_events_rest SELECT * FROM order_events_before WHERE order_id >= '{bound}';
        DELETE FROM order_events_before WHERE order_id >= '{bound}';
        ALTER TABLE order_events
            ATTACH PARTITION order_events_before FOR VALUES FROM (MINVALUE) TO ('{bound}');
        ALTER TABLE order_events_before DROP CONSTRAINT IF EXISTS order_events_before;
    END $$
"""
# Not for a rolling deployment: rows of later weeks are written anew under the lock.
_BACK = """
    DO $$ BEGIN
        PERFORM set_config('saycart.shop', '*', true);
        LOCK TABLE orders IN SHARE ROW EXCLUSIVE MODE;
        LOCK TABLE order_events IN ACCESS EXCLUSIVE MODE;
        IF to_regclass('order_events_before') IS NULL THEN
            CREATE TABLE order_events_before (LIKE order_events INCLUDING DEFAULTS);
            ALTER TABLE order_events_before ADD PRIMARY KEY (order_id, seq),
                ADD CONSTRAINT order_events_order_id_fkey FOREIGN KEY (order_id) REFERENCES orders (id);
            CREATE INDEX ix_order_events_before_at ON order_events_before (at, type);
            CREATE POLICY saycart_shop ON order_events_before
                USING ({allows}) WITH CHECK ({allows});
            PERFORM saycart_like_events('order_events_before', 'order_events');
        ELSE
            ALTER TABLE order_events DETACH PARTITION order_events_before;
        END IF;
        INSERT INTO order_events_before SELECT * FROM order_events;
        DROP TABLE order_events;
        ALTER TABLE order_events_before RENAME TO order_events;
        ALTER INDEX order_events_before_pkey RENAME TO order_events_pkey;
        ALTER INDEX ix_order_events_before_at RENAME TO ix_order_events_at;
    END $$
"""


def upgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        return
    bound = _first_of_monday(datetime.now(UTC) + timedelta(days=_AHEAD_DAYS))
    if op.get_context().as_sql or _checked(bound):
        add_check("order_events_before", "order_events", f"order_id < '{bound}'")
    for function in (_LIKE_ITS_PARENT.format(whose=WHOSE), _ADD, _DROP):
        op.execute(function)
    op.execute(_SWAP.format(allows=held_to(BY_ORDER), bound=bound))


def downgrade() -> None:
    if op.get_context().dialect.name == "sqlite":
        return
    op.execute(_BACK.format(allows=held_to(BY_ORDER)))
    op.execute("DROP FUNCTION saycart_drop_events, saycart_add_events, saycart_like_events")


def _first_of_monday(moment: datetime) -> str:
    """The first id of the Monday after this moment: its first ten digits are 48 bits of milliseconds."""
    day = moment.replace(hour=0, minute=0, second=0, microsecond=0) + timedelta(days=7 - moment.weekday())
    number = int(day.timestamp()) * 1000
    return "ord_" + "".join(_DIGITS[number >> shift & 31] for shift in range(45, -1, -5))


def _checked(bound: str) -> bool:
    """Whether a constraint can say that all rows come before the bound, so that ATTACH need not look at each.
    One that a killed run left, with another bound, is taken away: it would refuse the orders after that."""
    here = op.get_bind()
    there = here.execute(sa.text(_CHECK)).scalar()
    if there and bound not in there:
        with op.get_context().autocommit_block():
            op.execute("ALTER TABLE order_events DROP CONSTRAINT order_events_before")
    last = here.execute(sa.text("SELECT max(order_id) FROM order_events")).scalar()
    return last is None or str(last) < bound
