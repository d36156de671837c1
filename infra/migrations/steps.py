"""Steps of migrations that change tables in use, from 0013 on (ADR 49).

On PostgreSQL each runs outside the migration's transaction, holds no lock longer than an instant, and is
passed over where it was done already: a migration that was killed or gave up is run again from its begin. On
SQLite, where nobody else writes meanwhile, they are plain statements inside the transaction. Without a
database (`--sql`) all are printed.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import sqlalchemy as sa
from alembic import op

from infra.sql import migrating

_VALID = "SELECT indisvalid FROM pg_index WHERE indexrelid = to_regclass(:name)"
_POLICY = "SELECT 1 FROM pg_policy WHERE polname = :name AND polrelid = to_regclass(:table)"
_CONSTRAINT = "SELECT 1 FROM pg_constraint WHERE conname = :name AND conrelid = to_regclass(:table)"

WHOSE = "(SELECT current_setting('saycart.shop', true))"
"""The shop that a transaction names, or `*` for all; NULL or empty where it says nothing."""
BY_SHOP = f"shop_id = {WHOSE}"
BY_ORDER = "EXISTS (SELECT 1 FROM orders WHERE orders.id = order_id)"
BY_REVIEW = "EXISTS (SELECT 1 FROM reviews WHERE reviews.id = review_id)"
BY_STAFF = "EXISTS (SELECT 1 FROM staff WHERE staff.id = staff_id)"
"""A row is whose the row is that it hangs on: that one is looked for under its own policy."""


def add_column(table: str, column: sa.Column[Any]) -> None:
    """Add a column without writing the table anew; it may be NOT NULL with a `server_default`.

    Raises:
        ValueError: NOT NULL without a default, which rows that are there can't meet; a default that is
            computed for each row; a foreign key, which `add_foreign_key` adds.
    """
    if column.foreign_keys:
        raise ValueError(f"{column.name}: a foreign key is added by itself, with add_foreign_key")
    default = getattr(column.server_default, "arg", None)
    if default is None and not column.nullable:
        raise ValueError(f"{column.name}: NOT NULL needs a server_default for the rows that are there")
    if isinstance(default, sa.Function) or (isinstance(default, sa.TextClause) and "(" in default.text):
        raise ValueError(f"{column.name}: a default that is computed writes each row anew")
    if _in_transaction():
        op.add_column(table, column)
    elif _printed() or column.name not in {c["name"] for c in sa.inspect(op.get_bind()).get_columns(table)}:
        with _alone():
            op.add_column(table, column, if_not_exists=True)


def drop_column(table: str, column: str) -> None:
    """Drop a column: a contraction, so only once no release that serves knows it."""
    if _in_transaction():
        op.drop_column(table, column)
    elif _printed() or column in {c["name"] for c in sa.inspect(op.get_bind()).get_columns(table)}:
        with _alone():
            op.drop_column(table, column, if_exists=True)


def add_index(
    name: str, table: str, columns: Sequence[str | sa.TextClause], *, unique: bool = False, where: str = ""
) -> None:
    """Make an index beside readers and writers. One that a crash left INVALID is dropped and made again."""
    condition = sa.text(where) if where else None
    if _in_transaction():
        op.create_index(name, table, columns, unique=unique, sqlite_where=condition)
        return
    if not _printed():
        valid = op.get_bind().execute(sa.text(_VALID), {"name": name}).scalar_one_or_none()
        if valid:
            return
        if valid is not None:
            drop_index(name, table)
    with _alone(waits=True):
        op.create_index(
            name,
            table,
            columns,
            unique=unique,
            postgresql_where=condition,
            postgresql_concurrently=True,
            if_not_exists=True,
        )


def drop_index(name: str, table: str) -> None:
    """Drop an index beside readers and writers."""
    if _in_transaction():
        op.drop_index(name, table)
        return
    with _alone(waits=True):
        op.drop_index(name, table, postgresql_concurrently=True, if_exists=True)


def add_check(name: str, table: str, condition: str) -> None:
    """Add a constraint, and look at the rows that are there without keeping anybody from them."""
    if _in_transaction():
        with op.batch_alter_table(table) as batch:
            batch.create_check_constraint(name, sa.text(condition))
        return
    _validated(name, table, f"CHECK ({condition})")


def add_foreign_key(name: str, table: str, column: str, target: str) -> None:
    """Likewise; `target` is `table.column`."""
    other, key = target.split(".")
    if _in_transaction():
        with op.batch_alter_table(table) as batch:
            batch.create_foreign_key(name, other, [column], [key])
        return
    _validated(name, table, f"FOREIGN KEY ({column}) REFERENCES {other} ({key})")


def add_policy(table: str, belongs: str = BY_SHOP, *, reads: str = "", in_use: bool = False) -> None:
    """Have PostgreSQL show and take rows of the shop alone that a transaction names (ADR 58): those that meet
    `belongs`; others that meet `reads` may be looked at. On SQLite nothing.

    `in_use`: releases that name no shop work on the table, so that `saycart migrate --row-security on` has
    to follow. A table that is new has its policy enforced at once.
    """
    if _in_transaction():
        return
    allows, shows = held_to(belongs), held_to(reads)
    with _alone():
        if not _has_policy("saycart_shop", table):
            op.execute(f"CREATE POLICY saycart_shop ON {table} USING ({allows}) WITH CHECK ({allows})")
        if reads and not _has_policy("saycart_shop_reads", table):
            op.execute(f"CREATE POLICY saycart_shop_reads ON {table} FOR SELECT USING ({shows})")
        if not in_use:
            op.execute(f"ALTER TABLE {table} ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY")


def held_to(belongs: str) -> str:
    """A policy's condition: rows that meet `belongs`, and all for who serves all."""
    # To the planner CASE is half of all rows. OR would be nearly none, also for those who see all.
    return f"CASE {WHOSE} WHEN '*' THEN true ELSE {belongs} END"


def _has_policy(name: str, table: str) -> bool:
    if _printed():
        return False
    return bool(op.get_bind().execute(sa.text(_POLICY), {"name": name, "table": table}).scalar())


def drop_policies(table: str) -> None:
    """Take a table's policies away, and what held everybody to them."""
    if not _in_transaction():
        op.execute(f"ALTER TABLE {table} DISABLE ROW LEVEL SECURITY, NO FORCE ROW LEVEL SECURITY")
        for name in ("saycart_shop", "saycart_shop_reads"):
            op.execute(f"DROP POLICY IF EXISTS {name} ON {table}")


def _validated(name: str, table: str, definition: str) -> None:
    there = None
    if not _printed():
        there = op.get_bind().execute(sa.text(_CONSTRAINT), {"name": name, "table": table}).scalar()
    with _alone():
        if not there:
            op.execute(f"ALTER TABLE {table} ADD CONSTRAINT {name} {definition} NOT VALID")
        op.execute(f"ALTER TABLE {table} VALIDATE CONSTRAINT {name}")


@contextmanager
def _alone(*, waits: bool = False) -> Iterator[None]:
    """Each statement a transaction of its own. `waits`: as long as it takes, where nobody stands behind it:
    CONCURRENTLY waits for all transactions that were there before it, and keeps no reader or writer out."""
    with op.get_context().autocommit_block():
        if waits:
            op.execute("SET lock_timeout = 0")
        yield
        # After an error the session is not used any further, or the whole is tried again and sets it anew.
        if waits:
            op.execute(f"SET lock_timeout = '{migrating.LOCK_TIMEOUT_MS}ms'")


def _in_transaction() -> bool:
    return op.get_context().dialect.name == "sqlite"


def _printed() -> bool:
    return op.get_context().as_sql
