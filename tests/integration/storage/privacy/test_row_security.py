"""PostgreSQL's row-level security between shops: what a query without its shop returns."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
import pytest
from sqlalchemy import Column, Table, delete, func, insert, select, text, true, update
from sqlalchemy.exc import ProgrammingError
from sqlalchemy.orm import Session

from infra.settings import REPOSITORY, Settings
from infra.sql.database import Database, UtcDateTime
from infra.sql.row_security import EVERYWHERE
from schemas.errors import NotFound
from schemas.lifecycle import State
from schemas.menu import Menu
from services.cli.commands import doctor
from services.storage.base.scoping import OfShop
from services.storage.base.table_base import Base
from services.storage.privacy.retention import RetentionStore
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from tests.credentials import header_at, header_for
from tests.integration.api_world import MENU, World, running
from tests.servers.postgresql import ROLE, PostgreSQL
from tests.stand_ins import TESTER, claim_order

# Sign-in attempts by hash belong to no shop.
OF_NO_SHOP = {"sign_in_attempts"}
TABLES = {name: table for name, table in Base.metadata.tables.items() if name not in OF_NO_SHOP}
NOW = datetime(2026, 1, 1, tzinfo=UTC)
COLUMNS = [column for table in TABLES.values() for column in table.columns]
REFUSED = pytest.raises(ProgrammingError, match="violates row-level security policy")

POSTGRESQL = pytest.mark.parametrize("database_url", ["postgresql"], indirect=True)


def value(column: Column[Any], shop: str, number: int) -> Any:
    if column.foreign_keys:
        target = next((key.column.table.name for key in column.foreign_keys), "orders")
        return shop if target == "shops" else f"{target}-{shop}-1"
    if isinstance(column.type, UtcDateTime):
        return NOW
    if column.name == "shop_id" or (column.table.name, column.name) == ("shops", "id"):
        return shop
    kinds: dict[type, Any] = {
        str: f"{column.table.name}-{shop}-{number}",
        int: 1,
        float: 1.0,
        bool: False,
    }
    return kinds.get(column.type.python_type, {})


def row(table: Table, shop: str, number: int = 1) -> dict[str, Any]:
    """A row of the shop for any table, so that new tables are tested without changes here."""
    return {column.name: value(column, shop, number) for column in table.columns}


@pytest.fixture(scope="module")
def filled(postgresql: PostgreSQL) -> Iterator[Database]:
    """A database with a row of two shops in each table. Tests roll back their changes."""
    database = Database(postgresql.create("two_shops"))
    database.migrate()
    with database.everywhere().write() as session:
        for table in Base.metadata.sorted_tables:
            if table.name in TABLES:
                session.execute(insert(table), [row(table, shop) for shop in ("a", "b")])
    yield database
    database.close()


@contextmanager
def taken_back(handle: Database) -> Iterator[Session]:
    """A write transaction that is rolled back."""
    with handle.write() as session:
        yield session
        session.rollback()


def keys(database: Database, table: Table) -> set[tuple[Any, ...]]:
    """Return the keys of all rows, read in each of three ways."""
    query = select(*table.primary_key.columns)
    found = []
    for way in (database.read, database.write, database.glance):
        with way() as session:
            found.append({tuple(one) for one in session.execute(query)})
    assert found[0] == found[1] == found[2]
    return found[0]


def key(table: Table, shop: str) -> tuple[Any, ...]:
    return tuple(row(table, shop)[column.name] for column in table.primary_key.columns)


def test_every_table_with_rows_of_shops_has_a_policy(filled: Database) -> None:
    """For a new table, call `add_policy` in its migration (`infra/migrations/policies.py`)."""
    found = filled.row_security()
    assert set(found.enforced) == set(TABLES)
    assert (found.open, found.bypasses, found.fault) == ((), False, None)


@pytest.mark.parametrize("name", TABLES)
def test_a_query_without_a_shop_gets_only_its_own_rows(name: str, filled: Database) -> None:
    table = TABLES[name]
    assert keys(filled, table) == set(), "who says nothing sees nothing"
    for shop in ("a", "b"):
        assert keys(filled.bound(shop), table) == {key(table, shop)}
    assert {key(table, "a"), key(table, "b")} <= keys(filled.everywhere(), table)


@pytest.mark.parametrize("name", TABLES)
def test_writes_for_another_shop_are_refused(name: str, filled: Database) -> None:
    table, mine = TABLES[name], filled.bound("a")
    theirs = row(table, "b", 2) | ({"id": "c"} if name == "shops" else {})
    for handle in (mine, filled):
        with REFUSED, handle.write() as session:
            session.execute(insert(table).values(theirs))
    if name == "audit_log":  # append-only
        return
    first = next(iter(table.primary_key.columns))
    with taken_back(mine) as session:
        assert _rows(session, update(table).values({first: first})) == 1, "the other shop's is not there"
    if "shop_id" in table.columns:
        with REFUSED, mine.write() as session:
            session.execute(update(table).values(shop_id="b"))
    if not any(key.column.table is table for column in COLUMNS for key in column.foreign_keys):
        with taken_back(mine) as session:
            assert _rows(session, delete(table)) == 1
    with taken_back(filled) as session:
        assert _rows(session, delete(table)) == 0


def _rows(session: Session, statement: Any) -> int:
    return int(session.execute(statement).rowcount)  # type: ignore[attr-defined]


def test_no_shop_is_left_in_a_session(filled: Database) -> None:
    query = select(func.count()).select_from(TABLES["orders"])
    for _ in range(30):  # more than the pool has connections
        with filled.bound("a").write() as session, filled.bound("b").glance() as other:
            assert (session.scalar(query), other.scalar(query)) == (1, 1)
        with filled.glance() as session:
            assert session.scalar(query) == 0


def test_a_database_handle_can_not_be_widened(filled: Database) -> None:
    mine = filled.everywhere().bound("a")
    for widen in (mine.everywhere, lambda: mine.bound("b"), lambda: filled.bound(EVERYWHERE)):
        with pytest.raises(ValueError, match="bound to"):
            widen()
    assert mine.bound("a").url == filled.url


def test_a_name_is_no_sql(filled: Database) -> None:
    for name in ("a'; SET LOCAL saycart.shop = '*", "\\'; SELECT 1; --", "100%s"):
        assert keys(filled.bound(name), TABLES["orders"]) == set()


def test_values_are_escaped_in_unprepared_statements(filled: Database) -> None:
    """The driver interpolates them into the statement."""
    said = {"text": "100% 'é' \\ \" %s %(a)s ; --", "at": NOW, "none": None, "number": 7}
    query = (
        "SELECT CAST(:text AS text), CAST(:at AS timestamptz), CAST(:none AS text), CAST(:number AS int), '%'"
    )
    with filled.bound("a").glance() as session:
        assert session.execute(text(query), said).one() == (*said.values(), "%")


@pytest.fixture
def careless(monkeypatch: pytest.MonkeyPatch) -> None:
    """Break the first lock: no store filters by shop or checks a row's owner."""
    from services.storage.orders import store as orders
    from services.storage.reviews import queue
    from services.storage.shops import menus

    for module in (menus, orders, queue):
        monkeypatch.setattr(module, "of_shop", lambda *_: true())

    def found(_: object, session: Session, table: type[Base], key: str, *, hold: bool = False) -> Any:
        if (row := session.get(table, key, with_for_update=hold or None)) is None:
            raise NotFound(key)
        return row

    monkeypatch.setattr(OfShop, "_one", found)


@pytest.fixture
def two(tmp_path: Path, database_url: str) -> Iterator[tuple[World, dict[str, str]]]:
    """The API, and the header of a second shop."""
    with running(tmp_path, database_url) as world:
        ShopStore(world.parts.database).add("b", "B", by=TESTER)
        MenuStore(world.parts.database, "b").put(Menu.parse(MENU), by=TESTER)
        yield world, dict(header_for(world.parts.database, person="bob", shop="b"))


@POSTGRESQL
def test_row_security_holds_if_the_api_forgets_the_shop(
    two: tuple[World, dict[str, str]], careless: None
) -> None:
    world, other = two
    order = world.text()
    path = f"/v1/orders/{order['id']}"
    assert world.http.get(path).status_code == 200
    assert [one["id"] for one in world.http.get("/v1/orders").json()["orders"]] == [order["id"]]
    assert world.http.get("/v1/orders", headers=other).json()["orders"] == []
    for answer in (
        world.http.get(path, headers=other),
        world.http.get(f"{path}/events", headers=other),
        world.http.post(f"{path}/cancel", headers=other),
        world.http.post(f"{path}/erase", headers=other),
    ):
        assert answer.status_code in (404, 405), answer.text
    assert world.http.get(path).json()["status"] == "processing"
    assert world.http.post(f"{path}/cancel").status_code == 200


def test_a_role_that_bypasses_row_security_is_reported(
    postgresql: PostgreSQL, migrated_postgresql: str, tmp_path: Path
) -> None:
    for role, shown in (("saycart", "policies of "), ("postgres", "is a superuser")):
        config = Settings(home=tmp_path, database_url=postgresql.url(migrated_postgresql, role))
        (found,) = [check for check in doctor.database_checks(config) if check[0] == "row security"]
        assert shown in found[1]
        assert bool(found[2]) == (role == "postgres")


def test_the_role_of_the_docs_takes_orders(postgresql: PostgreSQL, tmp_path: Path) -> None:
    """A role that owns nothing, as in operations.md; only the owner migrates."""
    lines = re.search(
        r"```sql\n(CREATE ROLE.*?)```", (REPOSITORY / "docs/operations.md").read_text(), re.DOTALL
    )
    assert lines
    url = postgresql.create("granted")
    with psycopg.connect(postgresql.url("granted", "postgres").replace("+psycopg", "")) as admin:
        make, *grants = filter(None, lines[1].split(";\n"))
        admin.execute(make)
        admin.execute(f"SET ROLE {ROLE}")
        for grant in grants:
            admin.execute(grant)
    owner = Database(url)
    owner.migrate()
    owner.close()
    owned = header_at(url)
    with running(tmp_path, postgresql.url("granted", "saycart_app")) as world:
        assert world.parts.database.row_security().fault is None
        order = world.text()
        claim_order(world.parts.orders, order["id"], State.TRANSCRIBED, owner="w", lease_s=60)
        assert world.http.post(f"/v1/orders/{order['id']}/cancel", headers=owned).status_code == 200
        assert RetentionStore(world.parts.database, "main").step("orders", 0.0) == 1
