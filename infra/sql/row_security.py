"""PostgreSQL's own lock between shops (ADR 58): what a transaction says of itself, and who is held to it.

The migrations make the policies (`migrations/steps.py`). A transaction that names a shop is shown and may
write that shop's rows, one that names `EVERYWHERE` all, and one that says nothing none. It guards against a
query that forgets its shop, and not against somebody who may send SQL of their own: whoever can name a shop
can name another.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.engine import Connection
from sqlalchemy.exc import OperationalError

from infra.sql.dialects import DatabaseUnavailable

SETTING = "saycart.shop"
EVERYWHERE = "*"
POLICY = "saycart_shop"
# While it stands in `schema_versions` no release starts that names no shop, for it would see no rows.
_HELD, _SINCE = "0017.held", "0017"

_ROLE = text("SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
_TABLES = text(
    "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity FROM pg_class AS c "
    "JOIN pg_policy AS p ON p.polrelid = c.oid AND p.polname = :policy "
    "WHERE c.relnamespace = current_schema()::regnamespace ORDER BY c.relname"
)
_LOCK_TIMEOUT_MS, _TRIES, _PAUSE_S = 500, 20, 0.5
_NOT_NOW = {"55P03", "40P01"}  # the table was not free in time; a deadlock


@dataclass(frozen=True, slots=True)
class RowSecurity:
    """Whether the database itself keeps shops apart, as far as the role that we are can tell.

    `walks_past`: no policy holds for the role. `held`, `open`: tables whose policies hold for all others, and
    those whose policies wait to be enforced. All are empty on SQLite and on tables of before 0017.
    """

    role: str = ""
    walks_past: bool = False
    held: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def fault(self) -> tuple[str, str] | None:
        """What is wrong and how to mend it; None where all is well, or there is nothing to hold."""
        if self.walks_past:
            return (
                f"the role {self.role} is a superuser or has BYPASSRLS, so that no policy holds for it",
                "Connect as a role that is neither: docs/operations.md, The database's role.",
            )
        if self.open:
            return (
                f"policies are not enforced on {len(self.open)} tables",
                "Once every part runs this release: `saycart migrate --row-security on`.",
            )
        if self.role and not self.held:
            return "the tables have no policies yet", "Run `saycart migrate`."
        return None


def naming(whose: str) -> str:
    """The statement by which a transaction names its shop, or `EVERYWHERE`; gone with the transaction."""
    from psycopg import sql  # only where PostgreSQL is used

    return f"SET LOCAL {SETTING} = {sql.Literal(whose).as_string(None).strip()}"


def found(connection: Connection) -> RowSecurity:
    """How it is now."""
    role, walks_past = connection.execute(_ROLE).one()
    tables = connection.execute(_TABLES, {"policy": POLICY}).all()
    held = tuple(name for name, is_held in tables if is_held)
    return RowSecurity(role, walks_past, held, tuple(name for name, _ in tables if name not in held))


def enforce(connection: Connection, *, on: bool) -> list[str]:
    """Hold all roles but superusers to the policies, the tables' owner too, or nobody; which tables changed.

    Each table is a transaction of its own, so that nobody stands behind one who waits for many. Releases that
    name no shop are kept from starting first, and let in again last.

    Raises:
        DatabaseUnavailable: somebody held a table all the time; what is done stays done.
    """
    now = found(connection)
    connection.commit()
    changed = list(now.open if on else now.held)
    if on and changed:
        _keep_out(connection)
    done, force = ("ENABLE", "FORCE") if on else ("DISABLE", "NO FORCE")
    for table in changed:
        _patiently(
            connection,
            f"ALTER TABLE {table} {force} ROW LEVEL SECURITY, {done} ROW LEVEL SECURITY",
        )
    if now.held and not on:
        connection.execute(text("DELETE FROM schema_versions WHERE revision = :held"), {"held": _HELD})
        connection.commit()
    return changed


def _keep_out(connection: Connection) -> None:
    statement = "INSERT INTO schema_versions (revision, serves_from) VALUES (:held, :since)"
    connection.execute(text(f"{statement} ON CONFLICT DO NOTHING"), {"held": _HELD, "since": _SINCE})
    connection.commit()


def _patiently(connection: Connection, statement: str) -> None:
    for attempt in range(_TRIES):
        try:
            connection.exec_driver_sql(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT_MS}ms'")
            connection.exec_driver_sql(statement)
            connection.commit()
            return
        except OperationalError as error:
            connection.rollback()
            if getattr(error.orig, "sqlstate", None) not in _NOT_NOW:
                raise
            if attempt + 1 == _TRIES:
                raise DatabaseUnavailable(f"somebody holds the table: {statement}") from error
            time.sleep(_PAUSE_S)
