"""The changes of a new menu version, as the page shows them before it is stored."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from schemas.menu import Menu
from services.tills.menus.changes import Change, changes
from tests.integration.api_world import MENU
from tests.unit.service.test_menu import change

OAT = "/option_groups/0/options/0"
SOY = {"id": "soy", "name": "soy milk", "price": 50, "prices": {"L": 70}}
CHANGED, REPRICED = "Other changes", "New prices"
LATTE, MILK = "item latte", "option milk: oat milk"


@pytest.mark.parametrize(
    ("path", "value", "expected"),
    [
        ("/name", "Corner Cafe", []),
        ("/name", "Cafe", [(CHANGED, "the menu", "name", "Corner Cafe", "Cafe")]),
        ("/items/0/prices/L", 575, [(REPRICED, LATTE, "price, large", "$5.50", "$5.75")]),
        ("/items/0/description", "hot", [(CHANGED, LATTE, "description", "", "hot")]),
        ("/items/0/default_size", "L", [(CHANGED, LATTE, "default size", "", "large")]),
        ("/items/0/option_groups", [], [(CHANGED, LATTE, "option groups", "milk", "")]),
        ("/items/1/available", False, [(CHANGED, "item bagel", "available", "yes", "no")]),
        # Parts are matched by name, whatever their ids.
        ("/items/1/sku", "b1", [(CHANGED, "item bagel", "sku", "bagel", "b1")]),
        ("/items/1/name", "Bagel", [(CHANGED, "item Bagel", "name", "bagel", "Bagel")]),
        (
            "/items/1",
            {"sku": "bagel", "name": "roll", "price": 300},
            [("Added", "item roll", "", "", "$3.00"), ("Removed", "item bagel", "", "$3.99", "")],
        ),
        (f"{OAT}/price", 75, [(REPRICED, MILK, "price", "$0.60", "$0.75")]),
        (f"{OAT}/prices", {"L": 90}, [(REPRICED, MILK, "price, large", "", "$0.90")]),
        (f"{OAT}/amount_prices", {"extra": 90}, [(REPRICED, MILK, "price, extra", "", "$0.90")]),
        (
            "/option_groups/0/options/-",
            SOY,
            [("Added", "option milk: soy milk", "", "", "$0.50, large $0.70")],
        ),
        ("/taxes", [{"id": "vat", "name": "VAT", "rate": "8"}], [("Added", "tax vat", "", "", "")]),
    ],
)
def test_what_a_version_changes(path: str, value: Any, expected: list[tuple[Any, ...]]) -> None:
    document = copy.deepcopy(MENU)
    change(document, path, value)
    listed = changes(Menu.parse(MENU), Menu.parse(document))
    assert list(listed) == [Change(*one) for one in expected]


def test_every_part_of_a_new_menu_is_added() -> None:
    listed = list(changes(None, Menu.parse(MENU)))
    assert {one.kind for one in listed} == {"Added"}
    assert Change("Added", LATTE, after="small $4.50, large $5.50") in listed
