"""A chain's menu in its shops: each with its own prices and sold-out marks, on either database."""

from __future__ import annotations

from typing import Any

import pytest
from sqlalchemy import func, select

from infra.sql.database import Database
from schemas.errors import Conflict, InputError, InvalidMenu, NotFound
from schemas.menu import Menu
from services.reading.names import lexicons
from services.reading.order import read_order
from services.storage.audit.log import AuditLog
from services.storage.base.tables import MenuRow
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from tests.integration.storage.test_storage_menus import statements
from tests.stand_ins import CAFE, TESTER

ITEM = next(item for item in CAFE.items if item.price is not None)


def priced(menu: Menu, sku: str, price: int) -> Menu:
    items = tuple(i.model_copy(update={"price": price}) if i.sku == sku else i for i in menu.items)
    return menu.model_copy(update={"items": items})


def sold_out(menu: Menu, sku: str) -> Menu:
    items = tuple(i.model_copy(update={"available": False}) if i.sku == sku else i for i in menu.items)
    return menu.model_copy(update={"items": items})


def price_of(menu: Menu, sku: str) -> int | None:
    item = menu.item(sku)
    assert item is not None
    return item.price


@pytest.fixture
def menus(database: Database) -> MenuStore:
    """Stores of a chain, `harbor`, and of its shops `pier` and `quay`."""
    shops = ShopStore(database)
    shops.add("harbor", "Harbor", by=TESTER)
    for name in ("pier", "quay"):
        shops.add(name, name, by=TESTER, menus_of="harbor")
    return MenuStore(database, "harbor")


def test_a_shop_has_its_chains_menu_with_its_own_prices_through_every_new_version(
    menus: MenuStore, database: Database
) -> None:
    pier, quay = menus.of("pier"), menus.of("quay")
    with pytest.raises(NotFound):
        pier.get(CAFE.id)
    menus.put(CAFE, by=TESTER)
    assert (pier.get(CAFE.id).version, pier.get(CAFE.id).menu) == (1, CAFE)

    dearer = priced(CAFE, ITEM.sku, 999)
    assert pier.put(dearer, by=TESTER)[0].version == 2
    assert pier.put(dearer, by=TESTER) == (pier.get(CAFE.id), False)
    assert price_of(quay.get(CAFE.id).menu, ITEM.sku) == ITEM.price

    renamed = tuple(i.model_copy(update={"name": "new " + i.name}) for i in CAFE.items)
    menus.put(priced(CAFE.model_copy(update={"items": renamed}), ITEM.sku, 5), by=TESTER)
    for store in (pier, MenuStore(database, "pier")):  # what is remembered, and what is stored
        now = store.get(CAFE.id)
        assert (now.version, price_of(now.menu, ITEM.sku)) == (3, 999)
        assert now.menu.items[0].name == "new " + CAFE.items[0].name
        # An order that began with a version keeps it.
        assert store.get(CAFE.id, 1).menu == CAFE
        assert store.get(CAFE.id, 2).menu == dearer
        assert [version.version for version in store.versions(CAFE.id, limit=9)] == [3, 2, 1]
    assert price_of(quay.get(CAFE.id).menu, ITEM.sku) == 5
    assert quay.get(CAFE.id).version == 2
    assert len({quay.get(CAFE.id).digest, pier.get(CAFE.id).digest, menus.get(CAFE.id).digest}) == 2


def test_a_shops_list_has_the_chains_menus_before_anybody_asked_for_them(menus: MenuStore) -> None:
    menus.put(CAFE, by=TESTER)
    menus.put(sold_out(CAFE.model_copy(update={"id": "lunch"}), ITEM.sku), by=TESTER)
    pier = menus.of("pier")
    pier.put(CAFE.model_copy(update={"id": "own"}), by=TESTER)
    gone = sum(not item.available for item in CAFE.items)
    assert [(h.id, h.version, h.sold_out) for h in pier.headers()] == [
        ("lunch", 1, gone + 1),
        ("own", 1, gone),
        (CAFE.id, 1, gone),
    ]
    assert [h.id for h in menus.headers()] == ["lunch", CAFE.id]
    menus.put(priced(CAFE, ITEM.sku, 1), by=TESTER)
    assert {h.id: h.version for h in pier.headers()} == {CAFE.id: 2, "lunch": 1, "own": 1}
    assert pier.versions("own", limit=2)[0].menu.id == "own"


def test_a_shop_changes_prices_and_what_is_sold_out_and_nothing_else(menus: MenuStore) -> None:
    menus.put(CAFE, by=TESTER)
    pier = menus.of("pier")
    other = CAFE.items[0].model_copy(update={"name": "another"})
    with pytest.raises(InvalidMenu, match="chain") as refused:
        pier.put(CAFE.model_copy(update={"items": (other, *CAFE.items[1:])}), by=TESTER)
    assert [where for where, _ in refused.value.problems] == [f"/items/{other.sku}/name"]
    assert pier.get(CAFE.id).version == 1
    pier.put(sold_out(CAFE, ITEM.sku), by=TESTER, after=1)
    with pytest.raises(Conflict):
        pier.put(CAFE, by=TESTER, after=1)
    pier.put(CAFE, by=TESTER, after=2)  # back again
    assert pier.get(CAFE.id).menu == CAFE


def test_an_order_is_one_message_away_from_its_menu_and_a_new_version_is_made_once(
    menus: MenuStore, database: Database, race: Any
) -> None:
    menus.put(CAFE, by=TESTER)
    pier = menus.of("pier")
    found = race(6, lambda _: MenuStore(database, "pier").get(CAFE.id).version)
    assert found == [1] * 6
    pier.get(CAFE.id)
    with statements(database) as sent:
        pier.get(CAFE.id)
    assert len(sent) == 1
    with database.read() as session:
        assert session.scalar(select(func.count()).where(MenuRow.shop_id == "pier")) == 1


def test_who_changed_what_is_in_the_shops_own_log_with_prices_that_no_longer_hold(
    menus: MenuStore, database: Database
) -> None:
    menus.put(CAFE, by=TESTER)
    pier = menus.of("pier")
    pier.put(priced(CAFE, ITEM.sku, 999), by=TESTER)
    menus.put(CAFE.model_copy(update={"items": tuple(i for i in CAFE.items if i != ITEM)}), by=TESTER)
    pier.get(CAFE.id)
    entries = [e for e in AuditLog(database).entries(shop="pier") if e.object_type == "menu"]
    assert [(e.action, e.actor) for e in entries] == [
        ("menu.followed", "system:chain"),
        ("menu.imported", TESTER.name),
        ("price.changed", TESTER.name),
        ("menu.followed", "system:chain"),
    ]
    assert f"/items/{ITEM.sku}" in str(entries[-1].after)
    assert "unused" in str(entries[-1].after)
    assert "unused" not in str(entries[0].after)


def test_chains_have_one_step_and_a_shop_may_leave_with_what_it_has(
    menus: MenuStore, database: Database
) -> None:
    shops = ShopStore(database)
    for shop, base in (("pier", "pier"), ("main", "pier"), ("harbor", "main")):
        with pytest.raises(InputError):
            shops.follow(shop, base, by=TESTER)
    with pytest.raises(NotFound):
        shops.follow("pier", "nowhere", by=TESTER)
    with pytest.raises(NotFound):
        shops.add("new", "New", by=TESTER, menus_of="nowhere")
    assert [(s.id, s.menus_of) for s in shops.list()] == [
        ("harbor", None),
        ("main", None),
        ("pier", "harbor"),
        ("quay", "harbor"),
    ]
    menus.put(CAFE, by=TESTER)
    pier = menus.of("pier")
    pier.put(priced(CAFE, ITEM.sku, 999), by=TESTER)
    assert shops.follow("pier", None, by=TESTER).menus_of is None
    menus.put(priced(CAFE, ITEM.sku, 1), by=TESTER)
    assert price_of(pier.get(CAFE.id).menu, ITEM.sku) == 999
    own = CAFE.model_copy(update={"name": "Pier's own"})
    assert pier.put(own, by=TESTER)[0].version == 3
    shops.follow("pier", "harbor", by=TESTER)
    assert pier.get(CAFE.id).menu == own  # what it imported itself stays its own
    assert [e.action for e in AuditLog(database).entries(shop="pier") if e.object_type == "shop"] == [
        "shop.added",
        "shop.menus_of",
        "shop.menus_of",
    ]


def test_a_hundred_shops_of_a_chain_are_read_with_one_lexicon_and_one_prompt(
    database: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    shops, menus = ShopStore(database), MenuStore(database, "main")
    menus.put(CAFE, by=TESTER)
    stores = []
    for number in range(100):
        shops.add(f"shop-{number}", "x", by=TESTER, menus_of="main")
        stores.append(menus.of(f"shop-{number}"))
        stores[-1].put(priced(CAFE, ITEM.sku, number), by=TESTER)
    built: list[Menu] = []
    make = lexicons._built
    lexicons._LEXICONS.clear()
    monkeypatch.setattr(lexicons._LEXICONS, "_make", lambda menu: built.append(menu) or make(menu))
    for number, store in enumerate(stores):
        stored = store.get(CAFE.id)
        evidence = read_order(f"one {ITEM.name}", stored.menu, stored.version)
        assert price_of(evidence.menu, ITEM.sku) == number
        assert ITEM.sku in evidence.items
    assert len(built) == 1
    # Of a hundred menus that are said alike one is warmed.
    assert len(menus.lately_used(8)) == 1
