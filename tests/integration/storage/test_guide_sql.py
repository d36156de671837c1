"""The SQL of the guide on a real PostgreSQL, with names of the test's own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from infra.settings import REPOSITORY
from infra.sql.database import Database
from tests.postgresql import PostgreSQL

OPERATIONS = (REPOSITORY / "docs/operations.md").read_text()


@contextmanager
def fresh(server: PostgreSQL, name: str) -> Iterator[psycopg.Connection]:
    """A superuser's connection to a server that knows no such role and database: also at a second try."""
    with psycopg.connect(f"host={server.home} user=postgres", autocommit=True) as connection:
        connection.execute(f"DROP DATABASE IF EXISTS {name}".encode())
        connection.execute(f"DROP ROLE IF EXISTS {name}".encode())
        yield connection


@contextmanager
def as_told(server: PostgreSQL, name: str) -> Iterator[Database]:
    """The database of step 3, with its tables, by its own role."""
    (told,) = re.findall(r"psql <<'EOF'\n(.*?)^ *EOF$", OPERATIONS, re.DOTALL | re.MULTILINE)
    assert told.count("saycart") == 3
    with fresh(server, name) as connection:
        for statement in told.replace("saycart", name).split(";"):
            if statement.strip():
                connection.execute(statement.encode())
    with closing(Database(server.url(name, role=name))) as database:
        database.migrate()
        yield database


def test_the_role_of_step_three_makes_the_tables_and_is_held_to_a_shop(postgresql: PostgreSQL) -> None:
    with as_told(postgresql, "grown") as database:
        found = database.row_security()
        assert found.held
        assert found.fault is None
