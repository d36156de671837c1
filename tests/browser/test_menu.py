"""The menu pages in a real browser: search, sold out, edits, and files with what they would change."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from datetime import UTC, datetime, time, timedelta
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.errors import Conflict
from schemas.menu import Menu
from schemas.shops.access import Role
from tests.browser.conftest import (
    LONG_MENU,
    PHONE,
    assert_accessible,
    assert_fits,
    assert_light,
    assert_usable,
    watched,
)
from tests.browser.review_desk import PASSWORD, signed_in
from tests.integration.api_world import MENU, World
from tests.stand_ins import TESTER

SCRIPT = "<script>document.title='owned'</script>"


@pytest.fixture
def page(browser: Browser, cafe: World) -> Iterator[Page]:
    with watched(browser, cafe.url) as tab:
        yield tab


@pytest.fixture
def menu_id(cafe: World, request: pytest.FixtureRequest) -> str:
    """Return the id of the test's own menu."""
    own = f"menu-{abs(hash(request.node.nodeid))}"
    cafe.parts.menus.put(Menu.parse({**MENU, "id": own}), by=TESTER)
    return own


@pytest.fixture
def staff(browser: Browser, cafe: World) -> Iterator[Page]:
    """Open a tab, signed in as an administrator."""
    with suppress(Conflict):
        cafe.parts.staff.add("barista", PASSWORD, role=Role.ADMIN)
    with signed_in(browser, cafe.url, "barista") as tab:
        yield tab


def newest(cafe: World, menu_id: str) -> Menu:
    found: Menu = cafe.parts.menus.get(menu_id).menu
    return found


def test_anyone_browses_and_searches(page: Page, cafe: World, menu_id: str) -> None:
    page.goto(f"/menu/{menu_id}")
    expect(page.get_by_text("latte", exact=True)).to_be_visible()
    expect(page.get_by_text("$5.50")).to_be_visible()
    page.get_by_label("Search the menu").press_sequentially("bag")
    expect(page.get_by_text("latte", exact=True)).to_have_count(0)
    expect(page.get_by_text("bagel", exact=True)).to_be_visible()
    assert page.get_by_role("button", name="Sold out").count() == 0
    assert page.get_by_role("link", name="Edit").count() == 0


def test_items_and_options_are_sold_out_for_good_or_until_the_next_morning(
    staff: Page, cafe: World, menu_id: str
) -> None:
    staff.goto(f"/menu/{menu_id}")
    staff.get_by_role("button", name="Mark as sold out: bagel").click()
    back = staff.get_by_role("button", name="Bring back: bagel")
    expect(back).to_be_visible()
    staff.get_by_role("button", name="Mark as sold out: oat milk").click()
    expect(staff.get_by_role("button", name="Bring back: oat milk")).to_be_visible()
    now = newest(cafe, menu_id)
    assert [item.available for item in now.items] == [True, False]
    assert not now.option_groups[0].options[0].available
    back.click()
    expect(staff.get_by_role("button", name="Mark as sold out: bagel")).to_be_visible()
    assert cafe.parts.menus.get(menu_id).version == 4
    assert cafe.parts.menus.get(menu_id, 1).menu.items[1].available, "a version never changes"
    staff.get_by_role("button", name="Sold out until tomorrow: bagel").click()
    expect(staff.get_by_role("alert")).to_contain_text("This menu has no time zone")
    assert cafe.parts.menus.get(menu_id).version == 4
    cafe.parts.menus.put(Menu.parse({**MENU, "id": menu_id, "time_zone": "Asia/Tokyo"}), by=TESTER)
    staff.get_by_role("button", name="Sold out until tomorrow: bagel").click()
    expect(staff.get_by_role("button", name="Bring back: bagel")).to_be_visible()
    expect(staff.locator("#problem")).to_be_empty()
    until = newest(cafe, menu_id).items[1].sold_out_until
    assert until is not None, "marked on the newest version, from a page that shows an earlier one"
    assert timedelta(0) < until - datetime.now(UTC) <= timedelta(days=1)
    assert until.astimezone(ZoneInfo("Asia/Tokyo")).time() == time(4)


def test_an_edit_makes_a_new_version(staff: Page, cafe: World, menu_id: str) -> None:
    staff.goto(f"/menu/{menu_id}")
    staff.get_by_role("link", name="Edit latte").click()
    staff.get_by_label("Price, large").fill("5,75")
    staff.get_by_label("Also called").fill(f"caffe latte\n{SCRIPT}")
    staff.get_by_label("Description").fill("With a double shot.")
    staff.get_by_label("Allergens").fill("milk, soy")
    staff.get_by_label("Hours").fill("mon, Tuesday 07:00-11:00\n14:00-16:00")
    staff.get_by_label("Time zone of the menu").fill("America/New_York")
    staff.get_by_role("button", name="Save").click()
    staff.wait_for_url(f"**/menu/{menu_id}")
    menu = newest(cafe, menu_id)
    item = menu.items[0]
    assert item.prices == {"S": 450, "L": 575}
    assert item.aliases == ("caffe latte", SCRIPT)
    assert (item.description, item.allergens) == ("With a double shot.", ("milk", "soy"))
    assert list(map(str, item.hours)) == ["mon, tue 07:00–11:00", "14:00–16:00"]
    assert menu.time_zone == "America/New_York"
    staff.get_by_role("link", name="Versions").click()
    expect(staff.get_by_role("row", name="current")).to_contain_text("Corner Cafe")
    expect(staff.locator("tbody tr")).to_have_count(2)
    assert "owned" not in staff.title()
    assert_accessible(staff)


def test_an_edit_that_contradicts_the_menu_is_refused(staff: Page, cafe: World, menu_id: str) -> None:
    for label, value, words in (
        ("Price, large", "free", "Price, large: “free” isn't an amount."),
        ("Name", "bagel", "Name: “bagel” is already used by “bagel”."),
        ("Also called", "bagel", "Also called: “bagel” is already used by “bagel”."),
        ("Hours", "mornings", "Hours: “mornings” isn't like"),
        ("Hours", "07:00-11:00", "Time zone of the menu is missing"),
    ):
        staff.goto(f"/menu/{menu_id}/edit?sku=latte")
        staff.get_by_label(label).fill(value)
        staff.get_by_role("button", name="Save").click()
        expect(staff.get_by_role("alert")).to_contain_text(words)
        expect(staff.get_by_label(label)).to_have_value(value)
    form = {"csrf": staff.locator("[name=csrf]").first.input_value(), "version": "1", "sku": "bagel"}
    for field in ("price/x", "prices"):  # which no form has
        sent = {**form, "name": "bagel", "price": "4", "prices/S": "4", field: "4"}
        answer = staff.request.post(f"/menu/{menu_id}/edit", form=sent, headers={"Origin": cafe.url})
        assert (answer.status, "must be given once" in answer.text()) == (422, True)
    assert cafe.parts.menus.get(menu_id).version == 1


def test_an_option_is_priced_and_an_item_is_added(staff: Page, cafe: World, menu_id: str) -> None:
    staff.goto(f"/menu/{menu_id}")
    staff.get_by_role("link", name="Edit the price of oat milk").click()
    staff.get_by_label("Price").fill("0.75")
    staff.get_by_role("button", name="Save").click()
    staff.wait_for_url(f"**/menu/{menu_id}")
    expect(staff.get_by_text("+$0.75")).to_be_visible()
    staff.get_by_role("link", name="Add an item").click()
    staff.get_by_label("Name").fill("Flat White")
    staff.get_by_label("Category").fill("drink")
    staff.get_by_label("Price, small").fill("4.25")
    staff.get_by_label("milk").check()
    staff.get_by_role("button", name="Save").click()
    staff.wait_for_url(f"**/menu/{menu_id}")
    added = newest(cafe, menu_id).items[-1]
    assert (added.sku, added.category, added.prices) == ("flat-white", "drink", {"S": 425})
    assert added.option_groups == ("milk",)
    assert newest(cafe, menu_id).option_groups[0].options[0].price == 75


def drop(page: Page, file: Path) -> None:
    """Drop a file on the field of the page, as a person drags it there."""
    box = page.get_by_label("Menu file").bounding_box()
    assert box is not None
    at = {"x": box["x"] + box["width"] - 8, "y": box["y"] + 8}
    data = {"items": [], "files": [str(file)], "dragOperationsMask": 1}
    session = page.context.new_cdp_session(page)
    for kind in ("dragEnter", "dragOver", "drop"):
        session.send("Input.dispatchDragEvent", {"type": kind, **at, "data": data})


CSV = """name,price,price small,price large,groups,colour
latte,,4.50,5.75,milk,brown
muffin,3.50,,,,

group,option,price,max
milk,oat milk,0.60,1
"""


def test_a_dropped_csv_is_stored_after_its_changes_were_shown(
    staff: Page, cafe: World, menu_id: str, tmp_path: Path
) -> None:
    file = tmp_path / "menu.csv"
    file.write_text(CSV)
    staff.goto(f"/menu/{menu_id}")
    staff.get_by_label("Menu file").scroll_into_view_if_needed()
    drop(staff, file)
    staff.get_by_role("button", name="Preview changes").click()
    for title, words in (
        ("New prices", "item latte price, large $5.50 $5.75"),
        ("Added", "item muffin $3.50"),
    ):
        expect(staff.get_by_role("region", name=title)).to_contain_text(words)
    expect(staff.get_by_role("region", name="Removed")).to_contain_text("item bagel $3.99")
    expect(staff.get_by_text("menu.csv row 2 the column “colour”")).to_be_visible()
    assert_usable(staff)
    assert cafe.parts.menus.get(menu_id).version == 1
    staff.get_by_role("button", name="Save this version").click()
    staff.wait_for_url(f"**/menu/{menu_id}/versions")
    assert [item.name for item in newest(cafe, menu_id).items] == ["latte", "muffin"]
    assert newest(cafe, menu_id).name == "Corner Cafe"


def test_a_file_is_refused_with_its_places_and_stores_nothing_on_an_old_version(
    staff: Page, cafe: World, menu_id: str, tmp_path: Path
) -> None:
    def send(name: str, document: Any) -> None:
        file = tmp_path / name
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        staff.goto("/menu")
        staff.get_by_label("Menu file").set_input_files(file)
        staff.get_by_role("button", name="Preview changes").click()

    for name, document, words in (
        ("menu.json", "{", "menu.json is not a menu: not JSON"),
        ("menu.json", {**MENU, "items": [{**MENU["items"][1], "option_groups": ["no"]}]}, "no group 'no'"),
        ("a.csv", "name,price\nsoup,4", "The file names no currency"),
        ("a.csv", "field,value\ncurrency,USD\nname,price\nsoup,free", "a.csv row 4, column price"),
    ):
        send(name, document)
        expect(staff.get_by_role("alert")).to_contain_text(words)
    send("menu.json", {**MENU, "id": menu_id})
    expect(staff.get_by_role("status")).to_contain_text("Nothing would change: it's the same as version 1")
    expect(staff.get_by_role("button", name="Save this version")).to_have_count(0)
    send("menu.json", {**MENU, "id": menu_id, "name": SCRIPT})
    expect(staff.get_by_role("insertion")).to_have_text([SCRIPT])
    cafe.parts.menus.put(Menu.parse({**MENU, "id": menu_id, "name": "Renamed"}), by=TESTER)
    staff.get_by_role("button", name="Save this version").click()
    expect(staff.get_by_role("alert")).to_contain_text("has changed")
    assert newest(cafe, menu_id).name == "Renamed"


def test_a_long_menu_is_compressed_with_another_token_each_time_and_shows_errors(
    staff: Page, cafe: World
) -> None:
    cafe.parts.menus.put(Menu.parse(LONG_MENU), by=TESTER)
    assert_light(staff, "/menu/long")
    tokens = set()
    for address, encoding in (("/menu/long", "gzip"), ("/menu/long?q=dish", "gzip"), ("/review", None)):
        answer = staff.goto(address)
        assert answer is not None
        assert answer.headers.get("content-encoding") == encoding
        tokens.add(staff.locator("[name=csrf]").first.get_attribute("value"))
    assert len(tokens) == 3
    staff.goto("/menu/long")
    staff.get_by_role("button", name="Sold out until tomorrow: dish number 147").click()
    expect(staff.get_by_role("alert").locator(".notice")).to_be_in_viewport()


def test_the_menu_pages_are_accessible_and_fit_a_phone(staff: Page, cafe: World, menu_id: str) -> None:
    for address in (
        "/menu",
        f"/menu/{menu_id}",
        f"/menu/{menu_id}/edit",
        f"/menu/{menu_id}/edit?sku=latte",
        f"/menu/{menu_id}/edit?group=milk&option=oat",
        f"/menu/{menu_id}/versions",
    ):
        staff.set_viewport_size({"width": 1280, "height": 800})
        staff.goto(address)
        assert_accessible(staff)
        staff.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert_fits(staff)
