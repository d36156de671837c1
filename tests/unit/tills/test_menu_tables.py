"""Menus as tables: CSV files and spreadsheets."""

from __future__ import annotations

import io
import json

import openpyxl
import pytest
from typer.testing import CliRunner

from schemas.menu import Menu
from services.cli.commands.menu import TEMPLATE, app
from services.tills.menus.detect import read_menu
from services.tills.menus.source import Overrides
from tests.unit.tills.test_menus_import import DOLLARS, read


def test_the_tables_of_the_template_are_a_menu() -> None:
    """As CSV and as a spreadsheet, with the prices, groups and names of the menu file's template."""
    tables = CliRunner().invoke(app, ["template", "--format", "csv"]).stdout_bytes
    book = CliRunner().invoke(app, ["template", "--format", "xlsx"]).stdout_bytes
    menu = Menu.parse(read(tables, Overrides()).document)
    assert Menu.parse(read(book, Overrides(), "menu.bin").document) == menu
    json_menu = Menu.parse(json.loads(TEMPLATE.read_text(encoding="utf-8")))
    names = [(item.sku, item.name, item.price, item.number) for item in json_menu.items]
    assert [(item.sku, item.name, item.price, item.number) for item in menu.items] == names[: len(menu.items)]
    assert [(g.name, g.min, g.max, g.max_each, g.free, g.halves) for g in menu.option_groups[:2]] == [
        (g.name, g.min, g.max, g.max_each, g.free, g.halves) for g in json_menu.option_groups[:2]
    ]
    assert menu.items[0].prices == {"small": 450, "large": 550}
    assert menu.taxes == (json_menu.taxes[0].model_copy(update={"id": "sales-tax", "ref": None}),)


def test_two_files_are_tables_of_one_menu() -> None:
    items = ("a.csv", b"name;price;groups\nlatte;4,50;milk\n")
    options = ("b.csv", b"group;option;price\nmilk;oat;0,60\n")
    menu = Menu.parse(read_menu([items, options], DOLLARS).document)
    assert (menu.items[0].price, menu.groups_of(menu.items[0])[0].options[0].price) == (450, 60)


SIZED = """Field,Value
Currency,EUR
tax food,9
tax drink,9

group,option,price L
Milk,oat,1
milk,soy,2

name,price S,price L; large; large,groups,tax
tea,3,4,Milk,drink
"""


def test_sizes_have_all_aliases_and_taxes_of_one_rate_their_names() -> None:
    menu = Menu.parse(read(SIZED, Overrides()).document)
    assert menu.items[0].prices == {"s": 300, "l": 400}
    assert [(size.name, size.aliases) for size in menu.sizes] == [("l", ("large",)), ("s", ())]
    assert [tax.name for tax in menu.taxes] == ["food", "drink"]
    assert menu.items[0].tax == "drink"
    assert [option.name for option in menu.option_groups[0].options] == ["oat", "soy"]


@pytest.mark.parametrize("between", ["", "\n"])
@pytest.mark.parametrize("column", ["Item", "Name"])
def test_items_with_a_price_of_one_size_are_items(between: str, column: str) -> None:
    rows = f"field,value\nname,Bob's\ncurrency,USD\n{between}{column},Price large\nTea,4\n"
    assert Menu.parse(read(rows, Overrides()).document).items[0].name == "Tea"


def test_ordinary_cells_of_spreadsheets() -> None:
    rows = "field,value\nname,Price Hill Chili\ncurrency,USD\ntax a,8.25 %\n\nItem,Price ($),tax\n"
    menu = Menu.parse(read(f'{rows}"Iced\nTea",4,a\n', Overrides()).document)
    assert (menu.name, menu.items[0].name, menu.items[0].price) == ("Price Hill Chili", "Iced Tea", 400)
    assert [(tax.rate, tax.included) for tax in menu.taxes] == [("8.25", False)]
    assert not menu.sizes


def test_percentages_of_a_workbook() -> None:
    book = openpyxl.Workbook()
    for row in ("field,value", "currency,USD", "tax a,", "", "name,price", "tea,4"):
        book.active.append(row.split(","))
    book.active["B3"] = 0.08875
    book.active["B3"].number_format = "0.000%"
    book.save(file := io.BytesIO())
    assert Menu.parse(read(file.getvalue(), Overrides(), "menu.xlsx").document).taxes[0].rate == "8.875"
