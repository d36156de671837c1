"""The SQL and the dumps of the documents on a real PostgreSQL, with names of the test's own."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import closing, contextmanager

import psycopg

from infra.settings import REPOSITORY
from infra.sql.database import Database
from schemas.menu import Menu
from services.storage.shops.menus import MenuStore
from tests.integration.api_world import MENU
from tests.postgresql import PostgreSQL
from tests.stand_ins import TESTER

OPERATIONS = (REPOSITORY / "docs/operations.md").read_text()
CONTAINERS = (REPOSITORY / "docs/containers.md").read_text()


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


def test_a_dump_of_the_containers_page_comes_back_whole(postgresql: PostgreSQL) -> None:
    (dump,) = re.findall(r"postgres (pg_dump -U postgres .*) saycart > saycart.pgdump", CONTAINERS)
    (load,) = re.findall(r"postgres (pg_restore -U postgres .*) -d saycart < saycart.pgdump", CONTAINERS)

    def program(line: str, *more: str, given: bytes = b"") -> bytes:
        name, *words = line.replace("--role=saycart", "--role=again").split()
        where = [postgresql.programs / name, "-h", str(postgresql.home), *words, *more]
        return subprocess.run(where, input=given, capture_output=True, check=True).stdout

    with as_told(postgresql, "first") as database:
        MenuStore(database, "main").put(Menu.parse(MENU), by=TESTER)
    copy = program(dump, "first")
    with fresh(postgresql, "again") as connection:
        connection.execute("CREATE ROLE again LOGIN")
        connection.execute("CREATE DATABASE again OWNER again")
    program(load, "-d", "again", given=copy)
    with closing(Database(postgresql.url("again", role="again"))) as database:
        assert database.standing().is_ == "current"
        assert database.row_security().held
        assert MenuStore(database, "main").get(MENU["id"]).menu.name == MENU["name"]
