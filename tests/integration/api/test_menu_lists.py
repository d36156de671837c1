"""Lists of menus over HTTP: their fields, and links for a few menus, a select box for many."""

from __future__ import annotations

import re

from schemas.menu import Menu
from tests.integration import api_world
from tests.integration.api_world import MENU, World
from tests.stand_ins import TESTER

own_world = api_world.own_world


def add(world: World, count: int) -> None:
    for number in range(count):
        cake = {"sku": "cake", "name": f"cake {number}", "price": 1, "available": False}
        document = {**MENU, "id": f"cafe-{number}", "name": f"Cafe {number}", "items": [*MENU["items"], cake]}
        world.parts.menus.put(Menu.parse(document), by=TESTER)


def test_lists_show_menu_headers(own_world: World) -> None:
    add(own_world, 2)
    listed = own_world.http.get("/v1/menus").json()["menus"]
    assert [(menu["id"], menu["items"], menu["currency"]) for menu in listed] == [
        ("cafe-0", 3, "USD"), ("cafe-1", 3, "USD"), (MENU["id"], 2, "USD"),
    ]  # fmt: skip
    for menu in listed:
        assert (
            own_world.http.get(f"/v1/menus/{menu['id']}").headers["etag"].endswith(f'{menu["digest"][:16]}"')
        )
    assert "3 items, USD, en" in own_world.http.get("/menu").text


def test_few_menus_are_links_and_many_a_select_box(own_world: World) -> None:
    add(own_world, 11)
    page = own_world.http.get("/").text
    assert len(re.findall(r'<a href="/\?menu=', page)) == 12
    assert "<select" not in page
    assert "For example: one cake" not in page
    assert "For example: one latte" in page, "an item of the first menu"
    add(own_world, 15)
    page = own_world.http.get("/?menu=cafe-14").text
    assert len(re.findall("<option", page)) == 16
    assert '<option value="cafe-14" selected>Cafe 14</option>' in page
    assert 'data-menu="cafe-14"' in page
