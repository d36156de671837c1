"""PostgreSQL's own lock between shops (ADR 58): what a transaction says of itself, and who is held to it.

The migrations make the policies (`migrations/policies.py`). A transaction that names a shop is shown and may
write that shop's rows, one that names `EVERYWHERE` all, and one that says nothing none. It guards against a
query that forgets its shop, and not against a person who may send SQL of their own: who can name one
shop can name another.
"""

from __future__ import annotations

from dataclasses import dataclass

from sqlalchemy import text
from sqlalchemy.engine import Connection

SETTING = "saycart.shop"
EVERYWHERE = "*"
POLICY = "saycart_shop"

_ROLE = text("SELECT rolname, rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user")
_TABLES = text(
    "SELECT c.relname, c.relrowsecurity AND c.relforcerowsecurity FROM pg_class AS c "
    "JOIN pg_policy AS p ON p.polrelid = c.oid AND p.polname = :policy "
    "WHERE c.relnamespace = current_schema()::regnamespace ORDER BY c.relname"
)


@dataclass(frozen=True, slots=True)
class RowSecurity:
    """Whether the database itself keeps shops apart, as far as the role that we are can tell.

    `walks_past`: no policy holds for the role. `held`, `open`: tables whose policies hold for all others, and
    those where they were switched off. All are empty on SQLite and before the first migration.
    """

    role: str = ""
    walks_past: bool = False
    held: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def fault(self) -> tuple[str, str] | None:
        """What is wrong and how to fix it; None where all is well, or there is nothing to hold."""
        if self.walks_past:
            return (
                f"the role {self.role} is a superuser or has BYPASSRLS, so that no policy holds for it",
                "Connect as a role that is neither: docs/operations.md, The database's role.",
            )
        if self.open:
            return (
                f"policies are not enforced on {len(self.open)} tables",
                "For each: ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY.",
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
