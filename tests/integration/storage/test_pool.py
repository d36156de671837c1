"""Connections: a burst's are kept for the next one, since a new one costs PostgreSQL more than an order."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack

import pytest
from sqlalchemy import event

from infra.sql.database import Database

BURST = 10  # what a worker of so many threads, or an API under load, uses at once


@pytest.fixture
def opened(database: Database) -> Iterator[list[object]]:
    """Every connection that is opened during the test."""
    found: list[object] = []

    def note(dbapi: object, _record: object) -> None:
        found.append(dbapi)

    database.close()
    event.listen(database._engine, "connect", note)
    yield found
    event.remove(database._engine, "connect", note)


def burst(database: Database) -> None:
    with ExitStack() as together:
        for _ in range(BURST):
            together.enter_context(database._engine.connect())


def test_connections_that_a_burst_opened_serve_the_next_one(database: Database, opened: list[object]) -> None:
    for _ in range(3):
        burst(database)
    assert len(opened) == BURST


def test_what_one_at_a_time_is_enough_for_keeps_one_awake(database: Database, opened: list[object]) -> None:
    """The others rest, and need no look before each use."""
    burst(database)
    used = set()
    for _ in range(BURST):
        with database._engine.connect() as connection:
            used.add(id(connection.connection.dbapi_connection))
    assert len(used) == 1
