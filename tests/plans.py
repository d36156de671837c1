"""How a database would find what a query asks for, by index alone.

With few rows PostgreSQL rightly reads them all, or sorts three: what a test asks is whether an index can
serve the query in its order, so other ways are priced out. A plan that sorts all the same has no such index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session


def plans(session: Session, asked: Sequence[tuple[str, Any]]) -> list[str]:
    """The plan of each statement with its values, as the database tells it, one step a line."""
    explain = "EXPLAIN QUERY PLAN "
    if session.get_bind().dialect.name == "postgresql":
        explain = "EXPLAIN "
        for way in ("seqscan", "bitmapscan", "sort"):
            session.execute(text(f"SET LOCAL enable_{way} = off"))
    run = session.connection().exec_driver_sql
    return ["\n".join(map(str, run(explain + statement, values))) for statement, values in asked]
