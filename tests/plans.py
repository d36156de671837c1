"""Query plans, to test that an index can serve a query in its order.

On few rows PostgreSQL rightly prefers scans and sorts, so they are disabled here. A plan that still sorts has
no such index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from sqlalchemy.orm import Session


def plans(session: Session, queries: Sequence[tuple[str, Any]]) -> list[str]:
    """Return each statement's plan as the database prints it."""
    explain = "EXPLAIN QUERY PLAN "
    if session.get_bind().dialect.name == "postgresql":
        explain = "EXPLAIN "
        for way in ("seqscan", "bitmapscan", "sort"):
            session.execute(text(f"SET LOCAL enable_{way} = off"))
    run = session.connection().exec_driver_sql
    return ["\n".join(map(str, run(explain + statement, values))) for statement, values in queries]
