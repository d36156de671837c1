"""Menus: the contract's document is taken, every contradiction is named by its JSON pointer."""

from __future__ import annotations

import copy
import io
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import openpyxl
import pytest
from typer.testing import CliRunner

from infra.settings import REPOSITORY
from schemas.errors import InvalidMenu
from schemas.menu import Menu, spoken_key
from services.cli.commands.menu import TEMPLATE, app

# The example of the contract, word for word.
CONTRACT = json.loads(
    """
{"id": "harbor-coffee", "name": "Harbor Coffee", "currency": "USD", "language": "en",
 "sizes": [{"id": "S", "name": "small", "aliases": ["tall"]}],
 "option_groups": [{"id": "milk", "name": "milk", "choose": "one",
                    "options": [{"id": "oat", "name": "oat milk", "aliases": ["oat"], "price": 60}]}],
 "items": [{"sku": "latte", "name": "latte", "category": "drink", "aliases": ["caffe latte"],
            "prices": {"S": 450, "M": 500, "L": 550}, "option_groups": ["milk"],
            "available": true, "max_quantity": 12}]}
"""
)


def good() -> dict[str, Any]:
    """The contract's example with the sizes that it prices."""
    document = copy.deepcopy(CONTRACT)
    document["sizes"] += [{"id": "M", "name": "medium"}, {"id": "L", "name": "large"}]
    document["items"].append({"sku": "bagel", "name": "bagel", "price": 399})
    return document


def change(document: dict[str, Any], path: str, value: Any) -> None:
    """Set what a JSON pointer names; `-` appends."""
    *way, last = path.strip("/").split("/")
    at: Any = document
    for step in way:
        at = at[int(step)] if isinstance(at, list) else at[step]
    if isinstance(at, list):
        at.append(value) if last == "-" else at.__setitem__(int(last), value)
    else:
        at[last] = value


def pointers(document: Any) -> list[str]:
    with pytest.raises(InvalidMenu) as caught:
        Menu.parse(document)
    assert all(text for _, text in caught.value.problems)
    return [path for path, _ in caught.value.problems]


def test_the_contracts_example_imports() -> None:
    """With the two sizes that it prices and leaves out of its list, which else are each named."""
    assert pointers(CONTRACT) == ["/items/0/prices/M", "/items/0/prices/L"]
    menu = Menu.parse(good())
    latte = menu.item("latte")
    assert latte is not None
    assert latte.prices == {"S": 450, "M": 500, "L": 550}
    assert latte.size_ids == ("S", "M", "L")
    assert latte.max_quantity == 12
    bagel = menu.item("bagel")
    assert bagel is not None
    assert (bagel.price, bagel.size_ids, bagel.available) == (399, (), True)
    assert menu.group("milk") is menu.option_groups[0]
    assert (menu.item("x"), menu.group("x"), menu.size("x")) == (None, None, None)


def test_export_imports_again() -> None:
    menu = Menu.parse(good())
    assert Menu.parse(json.loads(menu.model_dump_json())) == menu
    # What no field of the second edition is in prints as it did in the first, so its version stays the same.
    first = '{"id":"oat","name":"oat milk","aliases":["oat"],"price":60,"available":true}'
    group = (
        f'{{"id":"milk","name":"milk","choose":"one","required":false,"halves":false,"options":[{first}]}}'
    )
    assert menu.option_groups[0].model_dump_json() == group
    assert menu.model_dump_json().endswith('"available":true,"max_quantity":20}]}')


def test_the_template_has_every_field_and_stands_on_the_page() -> None:
    text = TEMPLATE.read_text(encoding="utf-8")
    menu, notes = Menu.read(json.loads(text))
    assert notes == ()
    assert Menu.parse(menu.model_dump(mode="json", exclude_none=True)) == menu
    fields = {name for part in Menu.model_json_schema()["$defs"].values() for name in part["properties"]}
    assert {name for name in fields if f'"{name}"' not in text} == set()
    page = (REPOSITORY / "docs" / "menu-file.md").read_text(encoding="utf-8")
    assert text in page
    shown = CliRunner().invoke(app, ["template", "--schema"])
    assert json.loads(shown.output) == Menu.model_json_schema()


@pytest.mark.parametrize(
    ("counts", "choose", "least"),
    [
        ({}, "one", 0),
        ({"max": 1}, "one", 0),
        ({"max": 3}, "many", 0),
        ({"min": 1}, "many", 1),
        ({"min": 0, "max": 1}, "one", 0),
    ],
)
def test_counts_fill_in_the_shorthand(counts: dict[str, int], choose: str, least: int) -> None:
    document = good()
    document["option_groups"][0] |= counts
    del document["option_groups"][0]["choose"]
    group = Menu.parse(document).option_groups[0]
    assert (group.choose, group.required, group.least) == (choose, least > 0, least)


@pytest.mark.parametrize(
    ("moment", "open_"),
    [
        # New York is 5 hours behind; the 28th of November 2026 is a Saturday.
        ("2026-11-27T11:59:00+00:00", False),
        ("2026-11-27T12:00:00+00:00", True),
        ("2026-11-27T16:00:00+00:00", False),
        ("2026-11-28T13:30:00+00:00", False),
        # From ten at night on Saturday to two on Sunday morning.
        ("2026-11-29T03:00:00+00:00", True),
        ("2026-11-29T06:59:00+00:00", True),
        ("2026-11-29T07:00:00+00:00", False),
        ("2026-11-28T06:59:00+00:00", False),
    ],
)
def test_what_is_out_of_its_hours_is_not_available(moment: str, open_: bool) -> None:
    document = good() | {"time_zone": "America/New_York"}
    document["items"][0]["hours"] = [
        {"days": ["mon", "tue", "wed", "thu", "fri"], "start": "07:00", "end": "11:00"},
        {"days": ["sat"], "start": "22:00", "end": "02:00"},
    ]
    latte = Menu.parse(document).at(datetime.fromisoformat(moment)).items[0]
    assert (latte.available, latte.closed) == (open_, not open_)


def test_what_is_sold_out_comes_back_by_itself() -> None:
    document = good()
    document["items"][1]["sold_out_until"] = "2026-11-28T18:00:00Z"
    menu = Menu.parse(document)
    evening = datetime(2026, 11, 28, 18, tzinfo=UTC)
    assert [menu.at(evening - timedelta(minutes=m)).items[1].available for m in (1, 0)] == [False, True]


A = {"id": "a", "name": "a"}
CONTRADICTIONS = [
    ("/items/1/sku", "latte", "/items/1/sku"),
    ("/items/1/name", "Latte!", "/items/1/name"),
    ("/items/1/aliases", ["CAFFE  latte"], "/items/1/aliases/0"),
    ("/items/1/name", "—", "/items/1/name"),
    ("/items/1/aliases", ["roll", "—"], "/items/1/aliases/1"),
    ("/items/1/prices", {"S": 1}, "/items/1"),
    ("/items/1/price", None, "/items/1"),
    ("/items/0/prices", {}, "/items/0/prices"),
    ("/items/0/prices", {"XL": 1}, "/items/0/prices/XL"),
    ("/items/0/default_size", "XL", "/items/0/default_size"),
    ("/items/1/default_size", "S", "/items/1/default_size"),
    ("/items/0/size_refs", {"XL": "till-9"}, "/items/0/size_refs/XL"),
    ("/items/0/option_groups", ["milk", "roast"], "/items/0/option_groups/1"),
    ("/items/0/option_groups", ["milk", "milk"], "/items/0/option_groups"),
    ("/sizes/1/id", "S", "/sizes/1/id"),
    ("/sizes/1/name", "TALL", "/sizes/1/name"),
    ("/sizes/2/aliases", ["medium"], "/sizes/2/aliases/0"),
    ("/option_groups/-", {"id": "milk", "name": "m", "options": [A]}, "/option_groups/1/id"),
    ("/option_groups/-", {"id": "m", "name": "Milk", "options": [A]}, "/option_groups/1/name"),
    ("/option_groups/0/options/-", {"id": "oat", "name": "x"}, "/option_groups/0/options/1/id"),
    ("/option_groups/0/options/-", {"id": "x", "name": "oat"}, "/option_groups/0/options/1/name"),
    # By shape alone:
    ("/items/1/max_quantity", 0, "/items/1/max_quantity"),
    ("/items/1/sku", "a b", "/items/1/sku"),
    ("/items/1/sku", "", "/items/1/sku"),
    ("/language", "english", "/language"),
    ("/id", "../etc", "/id"),
    # Unknown fields are refused at every depth: a typing mistake must not become a default.
    ("/tax", 5, "/tax"),
    ("/sizes/0/price", 5, "/sizes/0/price"),
    ("/option_groups/0/most", 1, "/option_groups/0/most"),
    ("/option_groups/0/options/0/cost", {}, "/option_groups/0/options/0/cost"),
    # Of the second edition.
    ("/option_groups/0/options/0/prices", {"XL": 1}, "/option_groups/0/options/0/prices/XL"),
    ("/option_groups/0/max", 2, "/option_groups/0/choose"),
    ("/option_groups/0/min", 2, "/option_groups/0/min"),
    ("/option_groups/0/max", 0, "/option_groups/0/max"),
    ("/option_groups/0/max_each", 2, "/option_groups/0/max_each"),
    ("/option_groups/0/free", 2, "/option_groups/0/free"),
    ("/option_groups/0/defaults", ["soy"], "/option_groups/0/defaults/0"),
    ("/option_groups/0/defaults", ["oat", "oat"], "/option_groups/0/defaults"),
    ("/items/0/option_overrides", [{"group": "roast", "option": "oat"}], "/items/0/option_overrides/0/group"),
    ("/items/0/option_overrides", [{"group": "milk", "option": "x"}], "/items/0/option_overrides/0/option"),
    ("/items/0/option_overrides", 2 * [{"group": "milk", "option": "oat"}], "/items/0/option_overrides/1"),
    ("/items/0/tax", "food", "/items/0/tax"),
    ("/items/0/hours", [{"start": "07:00", "end": "11:00"}], "/time_zone"),
    ("/time_zone", "Moon/Crater", "/time_zone"),
    ("/taxes", 2 * [{"id": "a", "name": "a", "rate": 1}], "/taxes/1/id"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "value", "pointer"), CONTRADICTIONS)
def test_a_contradiction_is_named_by_its_pointer(path: str, value: Any, pointer: str) -> None:
    document = good()
    document["option_groups"][0] |= {"max": 1} if path.startswith("/option_groups/0/m") else {}
    document["option_groups"][0] |= {"max": 1} if path == "/option_groups/0/free" else {}
    change(document, path, value)
    assert pointer in pointers(document)


@pytest.mark.parametrize(
    ("path", "value", "words"),
    [
        ("/items", [], "needs at least one entry"),
        ("/items", "latte", "must be a list"),
        ("/items/1", "latte", "must be an object"),
        ("/items/1/price", "cheap", "must be a whole number"),
        ("/items/1/price", 3.99, "must be a whole number"),
        ("/items/1/price", -1, "must be at least 0"),
        ("/items/1/price", 10**9, "must be at most 10000000"),
        ("/items/1/name", "  ", "must not be empty"),
        ("/items/1/name", 3, "must be text"),
        ("/items/1/name", "n" * 81, "has over 80 characters"),
        ("/items/1/name", "a\x1b", "may not hold control or invisible characters (U+001B)"),
        ("/items/1/available", "perhaps", "must be true or false"),
        ("/items/1/cost", 5, "is not a known field"),
        ("/option_groups/0/choose", "two", "must be 'one' or 'many'"),
        ("/currency", "usd", "must be three capital letters, such as USD"),
        ("/language", "english", "must be a language, such as en or en-US"),
        ("/items/1/sku", "a b", "must be letters, digits, and _ . : - (at most 64, no spaces)"),
        ("/items/1/image", "http://a.example", "must be a URL that begins with https://"),
        (
            "/items/1/sold_out_until",
            "2026-12-01",
            "must be a time with its zone, such as 2026-01-31T17:00:00Z",
        ),
        (
            "/items/1/hours",
            [{"start": "7am", "end": "11:00"}],
            "must be a time such as 07:30, from 00:00 to 24:00",
        ),
        (
            "/taxes",
            [{"id": "a", "name": "a", "rate": 8.75}],
            'must be basis points (875) or a percentage in quotes ("8.75")',
        ),
    ],
)
def test_a_problem_of_shape_is_told_in_words(path: str, value: Any, words: str) -> None:
    document = good()
    change(document, path, value)
    with pytest.raises(InvalidMenu) as caught:
        Menu.parse(document)
    ((place, told),) = caught.value.problems
    assert (place.startswith(path), told) == (True, words)


def test_all_problems_are_named_at_once() -> None:
    document = good()
    document["items"][0]["default_size"] = "XL"
    document["items"][1]["sku"] = "latte"
    document["sizes"][2]["name"] = "small"
    assert set(pointers(document)) == {"/items/0/default_size", "/items/1/sku", "/sizes/2/name"}
    del document["items"][0]["sku"], document["currency"]
    assert set(pointers(document)) == {"/items/0/sku", "/currency"}
    document = good() | {"items": [{**document["items"][0], "sku": "?"}]}
    assert pointers(document) == ["/items/0/sku"], "a list with one wrong entry is not called empty"


@pytest.mark.parametrize("document", [None, [], "menu", 3, {}, {"id": "x"}])
def test_other_json_is_refused_not_a_fault(document: Any) -> None:
    assert pointers(document)


@pytest.mark.parametrize("sign", ["\x1b[2J", "\x9b", "\n", "\u202e", "\u200b", "\u2028", "\u2029"])
@pytest.mark.parametrize("path", ["/name", "/items/0/name", "/items/0/category", "/sizes/0/aliases/0"])
def test_a_name_has_no_signs_that_a_terminal_or_a_till_acts_on(path: str, sign: str) -> None:
    document = good()
    change(document, path, f"a{sign}b")
    assert pointers(document) == [path]


def test_names_may_repeat_across_kinds_but_not_within() -> None:
    """A size "medium" and a doneness "medium" are two things; so are options of two groups."""
    document, options = good(), [{"id": "medium", "name": "medium"}, {"id": "oat", "name": "oat milk"}]
    document["option_groups"].append({"id": "roast", "name": "roast", "options": options})
    assert Menu.parse(document)


def repetitive() -> dict[str, Any]:
    """Two aliases of one option that read alike, as people write them who want to be understood."""
    document = good()
    document["option_groups"][0]["options"].append(
        {"id": "skim", "name": "skim milk", "aliases": ["non fat", "skim", "Non-Fat", "SKIM milk"]}
    )
    return document


def test_two_names_of_one_thing_that_read_alike_are_dropped_to_one_and_said() -> None:
    menu, notes = Menu.read(repetitive())
    assert menu.option_groups[0].options[1].aliases == ("non fat", "skim")
    at = "/option_groups/0/options/1/aliases"
    assert notes == (
        (f"{at}/2", "“Non-Fat” reads like “non fat”, so it was dropped"),
        (f"{at}/3", "“SKIM milk” reads like “skim milk”, so it was dropped"),
    )
    assert Menu.read(menu.model_dump(mode="json")) == (menu, ()), "an export is tidy"


def test_names_of_one_thing_that_are_read_otherwise_are_kept() -> None:
    """ "&" is read as "and", which is a word like any other."""
    document = good()
    document["items"][1] |= {"name": "mac & cheese", "aliases": ["mac cheese", "mac and cheese"]}
    menu, notes = Menu.read(document)
    assert (menu.items[1].aliases, notes) == (("mac cheese", "mac and cheese"), ())


def test_names_of_two_things_that_read_alike_clash_however_often_each_has_them() -> None:
    document = repetitive()
    document["option_groups"][0]["options"][0]["aliases"] = ["oat", "Oat", "nonfat", "NON fat"]
    assert pointers(document) == ["/option_groups/0/options/1/aliases/0"]


@pytest.mark.parametrize(
    ("name", "key"),
    [("Café-Latte", "café latte"), ("  A  B ", "a b"), ("ß", "ss"), ("!?", ""), ("10-piece", "10 piece")],
)
def test_spoken_key_folds_what_the_ear_can_not_tell(name: str, key: str) -> None:
    assert spoken_key(name) == key


def long_book() -> bytes:
    """A small spreadsheet with a cell far below."""
    book, written = openpyxl.Workbook(), io.BytesIO()
    book.worksheets[0].cell(30_000, 1, "latte")
    book.save(written)
    return written.getvalue()


@pytest.mark.parametrize("command", ["import", "check"])
@pytest.mark.parametrize(
    ("data", "words"),
    [
        (
            b"fLaC\x00\x00\x00\x22" + bytes(range(256)) * 1000,
            "it is neither a spreadsheet (.xlsx) nor UTF-8 text, such as “CSV UTF-8”",
        ),
        (b"PK\x03\x04 latte", "it is a damaged spreadsheet: save it again as .xlsx, or as CSV"),
        (long_book(), "it is over 20000 rows or 50000000 bytes: delete what isn't the menu"),
        (b'name,price\n"' + 200_000 * b"a", "not CSV: field larger than field limit (131072)"),
        # Searched for its menu in no time.
        (100_000 * b"<script application/ld+json", "it has no `id`, and isn't from a known till"),
        (b"items: latte", "it is neither JSON nor a table with a column `name` and a column `price`"),
        (b"[" * 100_000, "it is nested too deeply"),
        (b'{"items": ', "not JSON: Expecting value at line 1, column 11"),
        (b'["latte"]', "it has no `id`, and isn't from a known till"),
        (b'{"id": 3}', "it has no `id`, and isn't from a known till"),
    ],
)
def test_a_file_that_is_no_menu_is_refused_in_one_sentence(
    tmp_path: Path, command: str, data: bytes, words: str
) -> None:
    file = tmp_path / "order.flac"
    file.write_bytes(data)
    refused = CliRunner().invoke(app, [command, str(file)])
    assert refused.exit_code == 1
    assert refused.output.splitlines()[0] == f"error order.flac is not a menu: {words}"
    assert len(refused.output) < 250
