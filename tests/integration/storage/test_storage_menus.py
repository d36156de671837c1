"""Menu versions in storage."""

from __future__ import annotations

from typing import Any

import pytest

from infra.sql.database import Database
from schemas.errors import Conflict
from schemas.menu import Menu
from schemas.records.orders import NewOrder
from schemas.transcript import Transcript
from services.storage.orders.store import OrderStore
from services.storage.shops.menus import MenuStore
from tests.integration.storage.schema.test_growth import asked
from tests.stand_ins import TESTER


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
    return MenuStore(database, "main")


def test_an_edit_of_an_old_version_stores_nothing(menus: MenuStore) -> None:
    assert menus.put(menu(), after=0, by=TESTER)[0].version == 1
    assert menus.put(menu(310), after=1, by=TESTER)[0].version == 2
    with pytest.raises(Conflict, match="has changed since"):
        menus.put(menu(320), after=1, by=TESTER)
    assert [found.version for found in menus.versions("cafe", limit=9)] == [2, 1]
    assert [found.version for found in menus.versions("cafe", limit=1)] == [2]
    assert menus.versions("bar", limit=9) == []


def test_menus_are_sorted_by_newest_order_then_import(database: Database, menus: MenuStore) -> None:
    for name in ("first", "second", "third", "fourth", "fifth"):
        menus.put(menu(menu_id=name), by=TESTER)
    menus.put(menu(310, menu_id="second"), by=TESTER)
    orders = OrderStore(database, "main")
    for name in ("fourth", "second", "fourth", "third", "second"):
        orders.create(NewOrder(name, 1, "en", transcript=Transcript(text="tea", confidence=1.0)))
    found = [(used.menu.id, used.version) for used in menus.recently_used(9)]
    assert found == [("second", 2), ("third", 1), ("fourth", 1), ("fifth", 1), ("first", 1)]
    assert [used.menu.id for used in menus.recently_used(2)] == ["second", "third"]
    assert menus.recently_used(0) == []


def test_a_header_matches_its_document(menus: MenuStore) -> None:
    stored, _ = menus.put(menu(), by=TESTER)
    [header] = menus.headers()
    assert header == stored.header
    assert (header.name, header.currency, header.language) == ("Café 東", "USD", "en")
    assert (header.items, header.sold_out) == (1, 0)
    document = menu().model_dump(mode="json")
    document["items"].append({"sku": "cake", "name": "cake", "price": 1, "available": False})
    menus.put(Menu.parse(document), by=TESTER)
    [header] = menus.headers()
    assert (header.version, header.items, header.sold_out) == (2, 2, 1)


def test_menus_are_listed_without_loading_documents(menus: MenuStore) -> None:
    for number in range(3):
        menus.put(menu(menu_id=f"cafe-{number}"), by=TESTER)
    menus.get("cafe-1")
    with asked() as sent:
        assert len(menus.headers()) == 3
        assert menus.get("cafe-1").version == 1
    # The headers, and the number of one menu's newest version.
    assert len(sent) == 2
    assert not [statement for statement, _ in sent if "document" in statement]


def test_versions_under_concurrent_puts(menus: MenuStore, race: Any) -> None:
    stored = race(12, lambda number: menus.put(menu(100 + number), by=TESTER))
    assert sorted(version.version for version, _ in stored) == list(range(1, 13))
    for version, _ in stored:
        assert menus.get("cafe", version.version).menu == version.menu
    stored = race(8, lambda _n: menus.put(menu(999), by=TESTER))
    assert {version.version for version, _ in stored} == {13}
    assert sum(created for _, created in stored) == 1
