"""Menu versions in storage, on SQLite and on PostgreSQL."""

from __future__ import annotations

from typing import Any

import pytest

from infra.database import Database
from schemas.errors import Conflict, NotFound
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.storage import menus as module
from services.storage.menus import MenuStore
from services.storage.orders import OrderStore
from services.storage.records import NewOrder


def menu(price: int = 300, menu_id: str = "cafe") -> Menu:
    return Menu.parse(
        {
            "id": menu_id,
            "name": "Café 東",
            "currency": "USD",
            "sizes": [
                {"id": "S", "name": "small"},
                {"id": "L", "name": "large"},
                {"id": "A", "name": "tiny"},
            ],
            "items": [{"sku": "tea", "name": "tea", "prices": {"S": price, "L": 500, "A": 100}}],
        }
    )


@pytest.fixture
def menus(database: Database) -> MenuStore:
    return MenuStore(database)


def test_each_change_is_a_version(menus: MenuStore, database: Database) -> None:
    first, created = menus.put(menu())
    assert created
    assert (first.version, first.menu) == (1, menu())
    assert menus.put(menu()) == (first, False)
    second, created = menus.put(menu(310))
    assert (second.version, created) == (2, True)
    assert second.digest != first.digest
    # Back to what it was is a change like any other: version 1 is not the newest.
    assert menus.put(menu())[0].version == 3

    for store in (menus, MenuStore(database)):
        assert store.get("cafe").version == 3
        assert store.get("cafe", 1) == first
        assert store.get("cafe", 2) == second
    menus.put(menu(menu_id="bar"))
    assert [(found.menu.id, found.version) for found in menus.list()] == [("bar", 1), ("cafe", 3)]


def test_an_edit_of_an_old_version_stores_nothing(menus: MenuStore) -> None:
    assert menus.put(menu(), after=0)[0].version == 1
    assert menus.put(menu(310), after=1)[0].version == 2
    with pytest.raises(Conflict, match="newer version"):
        menus.put(menu(320), after=1)
    assert [found.version for found in menus.versions("cafe", limit=9)] == [2, 1]
    assert [found.version for found in menus.versions("cafe", limit=1)] == [2]
    assert menus.versions("bar", limit=9) == []


def test_menus_come_by_their_newest_orders_and_then_their_import(
    database: Database, menus: MenuStore
) -> None:
    for name in ("first", "second", "third", "fourth", "fifth"):
        menus.put(menu(menu_id=name))
    menus.put(menu(310, menu_id="second"))
    orders = OrderStore(database)
    for name in ("fourth", "second", "fourth", "third", "second"):
        orders.create(NewOrder(name, 1, "en", transcript=Transcript(text="tea", confidence=1.0)))
    found = [(used.menu.id, used.version) for used in menus.lately_used(9)]
    assert found == [("second", 2), ("third", 1), ("fourth", 1), ("fifth", 1), ("first", 1)]
    assert [used.menu.id for used in menus.lately_used(2)] == ["second", "third"]
    assert menus.lately_used(0) == []


def test_sizes_keep_their_order(menus: MenuStore, database: Database) -> None:
    menus.put(menu())
    assert MenuStore(database).get("cafe").menu.items[0].size_ids == ("S", "L", "A")


@pytest.mark.parametrize("version", [None, 0, 2, -1, 2**70])
def test_unknown_menus(menus: MenuStore, version: int | None) -> None:
    menus.put(menu())
    with pytest.raises(NotFound):
        menus.get("none", version)
    if version is not None:
        with pytest.raises(NotFound):
            menus.get("cafe", version)


def test_versions_under_concurrent_puts(menus: MenuStore, race: Any) -> None:
    stored = race(12, lambda number: menus.put(menu(100 + number)))
    assert sorted(version.version for version, _ in stored) == list(range(1, 13))
    for version, _ in stored:
        assert menus.get("cafe", version.version).menu == version.menu
    stored = race(8, lambda _n: menus.put(menu(999)))
    assert {version.version for version, _ in stored} == {13}
    assert sum(created for _, created in stored) == 1


def test_what_is_remembered_is_bounded(menus: MenuStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "CACHED", 3)
    for price in range(6):
        menus.put(menu(price))
    for version in (1, 2, 3, 1, 4, 5):
        assert menus.get("cafe", version).menu == menu(version - 1)
    assert [version for _, version in menus._known] == [1, 4, 5]
    # Remembered versions need no database.
    monkeypatch.setattr(module, "reading", None)
    assert menus.get("cafe", 4).version == 4
