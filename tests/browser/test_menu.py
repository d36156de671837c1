"""The menu pages in a real browser: search, sold out, edit, import, and what changed."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from schemas.errors import Conflict
from schemas.menu import Menu
from schemas.shops.access import Role
from tests.browser.conftest import PHONE, assert_accessible, assert_fits, watched
from tests.integration.api_world import MENU, World
from tests.stand_ins import TESTER

SCRIPT = "<script>document.title='owned'</script>"
NAME, PASSWORD = "barista", "correct horse battery"


@pytest.fixture
def page(browser: Browser, cafe: World) -> Iterator[Page]:
    with watched(browser, cafe.url) as tab:
        yield tab


@pytest.fixture
def menu_id(cafe: World, request: pytest.FixtureRequest) -> str:
    """A menu of the test's own."""
    own = f"menu-{abs(hash(request.node.nodeid))}"
    cafe.parts.menus.put(Menu.parse({**MENU, "id": own}), by=TESTER)
    return own


@pytest.fixture
def staff(page: Page, cafe: World) -> Page:
    """A tab of someone who has signed in."""
    with suppress(Conflict):
        cafe.parts.staff.add(NAME, PASSWORD, role=Role.ADMIN)
    page.goto("/sign-in?next=/menu")
    page.get_by_label("Name").fill(NAME)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url("**/menu")
    return page


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


def test_an_item_and_an_option_are_marked_sold_out_and_back(staff: Page, cafe: World, menu_id: str) -> None:
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


def test_an_edit_makes_a_new_version(staff: Page, cafe: World, menu_id: str) -> None:
    staff.goto(f"/menu/{menu_id}")
    staff.get_by_role("link", name="Edit latte").click()
    staff.get_by_label("Price, large").fill("5,75")
    staff.get_by_label("Also called").fill(f"caffe latte\n{SCRIPT}")
    staff.get_by_role("button", name="Save").click()
    staff.wait_for_url(f"**/menu/{menu_id}")
    item = newest(cafe, menu_id).items[0]
    assert item.prices == {"S": 450, "L": 575}
    assert item.aliases == ("caffe latte", SCRIPT)
    staff.get_by_role("link", name="Versions").click()
    expect(staff.get_by_role("row", name="current")).to_contain_text("Corner Cafe")
    expect(staff.locator("tbody tr")).to_have_count(2)
    assert "owned" not in staff.title()
    assert_accessible(staff)


@pytest.mark.parametrize(
    ("label", "value", "words"),
    [
        ("Price, large", "free", "not an amount"),
        ("Name", "bagel", "already used"),
    ],
)
def test_an_edit_that_contradicts_the_menu_is_refused(
    staff: Page, cafe: World, menu_id: str, label: str, value: str, words: str
) -> None:
    staff.goto(f"/menu/{menu_id}/items/latte")
    staff.get_by_label(label).fill(value)
    staff.get_by_role("button", name="Save").click()
    expect(staff.get_by_role("alert")).to_contain_text(words)
    expect(staff.get_by_label(label)).to_have_value(value)
    assert cafe.parts.menus.get(menu_id).version == 1


def test_an_edit_of_an_old_version_overwrites_nothing(staff: Page, cafe: World, menu_id: str) -> None:
    staff.goto(f"/menu/{menu_id}/items/bagel")
    rival = {**MENU, "id": menu_id, "name": "Renamed"}
    cafe.parts.menus.put(Menu.parse(rival), by=TESTER)
    staff.get_by_label("Name").fill("seeded bagel")
    staff.get_by_role("button", name="Save").click()
    expect(staff.get_by_role("alert")).to_contain_text("has changed")
    assert newest(cafe, menu_id) == Menu.parse(rival)


def test_a_menu_is_imported_from_a_file(staff: Page, cafe: World, menu_id: str, tmp_path: Path) -> None:
    def send(document: Any) -> None:
        file = tmp_path / "menu.json"
        file.write_text(document if isinstance(document, str) else json.dumps(document))
        staff.goto("/menu")
        staff.get_by_label("Menu file").set_input_files(file)
        staff.get_by_role("button", name="Check and import").click()

    send("{")
    expect(staff.get_by_role("alert")).to_contain_text("not JSON")
    send({**MENU, "id": menu_id, "items": [{**MENU["items"][1], "option_groups": ["nothing"]}]})
    expect(staff.get_by_role("alert")).to_contain_text("no group 'nothing'")
    assert cafe.parts.menus.get(menu_id).version == 1
    send({**MENU, "id": menu_id, "name": SCRIPT})
    staff.wait_for_url(f"**/menu/{menu_id}/versions")
    expect(staff.locator("tbody tr td:nth-child(2)")).to_have_text([SCRIPT, "Corner Cafe"])


def test_the_menu_pages_are_accessible_and_fit_a_phone(staff: Page, cafe: World, menu_id: str) -> None:
    for address in (
        "/menu",
        f"/menu/{menu_id}",
        f"/menu/{menu_id}/items/latte",
        f"/menu/{menu_id}/versions",
    ):
        staff.set_viewport_size({"width": 1280, "height": 800})
        staff.goto(address)
        assert_accessible(staff)
        staff.set_viewport_size(PHONE)  # type: ignore[arg-type]
        assert_fits(staff)
