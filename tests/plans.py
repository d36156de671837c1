"""How a database would find what a query asks for, by index alone; and what PostgreSQL reads for a call.

With few rows PostgreSQL rightly reads them all, or sorts three: what a test asks is whether an index can
serve the query in its order, so other ways are priced out. A plan that sorts all the same has no such index.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sqlalchemy import Engine, event, text

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from sqlalchemy.orm import Session

    from infra.sql.database import Database


def plans(session: Session, asked: Sequence[tuple[str, Any]]) -> list[str]:
    """The plan of each statement with its values, as the database tells it, one step a line."""
    explain = "EXPLAIN QUERY PLAN "
    if session.get_bind().dialect.name == "postgresql":
        explain = "EXPLAIN "
        for way in ("seqscan", "bitmapscan", "sort"):
            session.execute(text(f"SET LOCAL enable_{way} = off"))
    run = session.connection().exec_driver_sql
    return ["\n".join(map(str, run(explain + statement, values))) for statement, values in asked]


def blocks(database: Database, call: Callable[[], object]) -> int:
    """Blocks of 8 kB that the SELECTs of one call touch on PostgreSQL."""
    asked: list[tuple[str, Any]] = []

    def note(_connection: Any, _cursor: Any, statement: str, values: Any, *_: Any) -> None:
        if statement.startswith("SELECT") and "FROM" in statement:
            asked.append((statement, values))

    event.listen(Engine, "before_cursor_execute", note)
    try:
        call()
    finally:
        event.remove(Engine, "before_cursor_execute", note)
    total = 0
    with database.write() as session:
        for statement, values in asked:
            explain = f"EXPLAIN (ANALYZE, BUFFERS, FORMAT JSON) {statement}"
            [plan] = session.connection().exec_driver_sql(explain, values).scalar_one()
            total += plan["Plan"]["Shared Hit Blocks"] + plan["Plan"]["Shared Read Blocks"]
    return total
