"""What staff read of the differences between two versions of a menu."""

from __future__ import annotations

import json

from schemas.menu import Menu
from services.web.staff.menu_diff import MenuChange, changes

MENU = {
    "id": "cafe",
    "name": "Café",
    "currency": "USD",
    "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
    "option_groups": [{"id": "milk", "name": "milk", "options": [{"id": "oat", "name": "oat", "price": 60}]}],
    "items": [
        {"sku": "latte", "name": "latte", "prices": {"S": 400, "L": 500}, "option_groups": ["milk"]},
        {"sku": "tea", "name": "tea", "price": 300},
    ],
}


def test_every_difference_is_named_by_its_place() -> None:
    other = json.loads(json.dumps(MENU))
    other["items"][0]["prices"]["L"] = 1
    other["option_groups"][0]["options"][0]["price"] = 70
    other["items"][1]["available"] = False
    other["items"].append({"sku": "cake", "name": "cake", "price": 250})
    other["sizes"].reverse()
    before, after = Menu.parse(MENU), Menu.parse(other)
    assert changes(before, after) == [
        MenuChange("", "order of sizes", "", "changed"),
        MenuChange("milk › oat", "price", "$0.60", "$0.70"),
        MenuChange("latte", "price L", "$5.00", "$0.01"),
        MenuChange("tea", "available", "yes", "no"),
        MenuChange("cake", "item", "", "added"),
    ]
    assert MenuChange("cake", "item", "removed", "") in changes(after, before)
    assert changes(before, before) == []
