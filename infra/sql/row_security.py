"""PostgreSQL's row-level security between shops (ADR 58), and how transactions name their shop.

The migrations create the policies (`migrations/policies.py`). A transaction can access the rows of the shop
that it names, all rows with `EVERYWHERE`, and otherwise none. This protects from queries without a condition
for the shop, not from people who can send SQL of their own.
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
    """How the database keeps shops apart for our role.

    `bypasses`: no policy applies to the role. `enforced`, `open`: tables whose policies are on, or off. All
    are empty on SQLite and before the first migration.
    """

    role: str = ""
    bypasses: bool = False
    enforced: tuple[str, ...] = ()
    open: tuple[str, ...] = ()

    @property
    def fault(self) -> tuple[str, str] | None:
        """What is wrong and how to fix it, None if nothing is."""
        if self.bypasses:
            return (
                f"the role {self.role} is a superuser or has BYPASSRLS, so no policy applies to it",
                "Connect as a role that is neither: docs/operations.md, The database's role.",
            )
        if self.open:
            return (
                f"policies are not enforced on {len(self.open)} tables",
                "For each: ALTER TABLE ... ENABLE ROW LEVEL SECURITY, FORCE ROW LEVEL SECURITY.",
            )
        if self.role and not self.enforced:
            return "the tables have no policies yet", "Run `saycart migrate`."
        return None


def naming(whose: str) -> str:
    """Return the statement by which a transaction names its shop, or `EVERYWHERE`."""
    from psycopg import sql  # only where PostgreSQL is used

    return f"SET LOCAL {SETTING} = {sql.Literal(whose).as_string(None).strip()}"


def found(connection: Connection) -> RowSecurity:
    """Return the connection's row security."""
    role, bypasses = connection.execute(_ROLE).one()
    tables = connection.execute(_TABLES, {"policy": POLICY}).all()
    enforced = tuple(name for name, is_on in tables if is_on)
    return RowSecurity(role, bypasses, enforced, tuple(name for name, is_on in tables if not is_on))
