"""The SQL of the guide on a real PostgreSQL, with names of the test's own."""

from __future__ import annotations

import re
from contextlib import closing

import psycopg

from infra.settings import REPOSITORY
from infra.sql.database import Database
from tests.servers.postgresql import PostgreSQL

OPERATIONS = (REPOSITORY / "docs/operations.md").read_text()


def test_the_role_of_step_three_makes_the_tables_and_is_held_to_a_shop(postgresql: PostgreSQL) -> None:
    (commands,) = re.findall(r"psql <<'EOF'\n(.*?)^ *EOF$", OPERATIONS, re.DOTALL | re.MULTILINE)
    assert commands.count("saycart") == 3
    statements = ["DROP DATABASE IF EXISTS grown", "DROP ROLE IF EXISTS grown"]  # of a first try
    statements += commands.replace("saycart", "grown").split(";")
    with psycopg.connect(f"host={postgresql.home} user=postgres", autocommit=True) as connection:
        for statement in filter(str.strip, statements):
            connection.execute(statement.encode())
    with closing(Database(postgresql.url("grown", role="grown"))) as database:
        database.migrate()
        found = database.row_security()
        assert found.held
        assert found.fault is None
