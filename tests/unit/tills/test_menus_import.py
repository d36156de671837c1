"""Menus of tills, spreadsheets and web pages as menu files.

`*-published` are the vendors' own examples: Square's of BatchUpsertCatalogObjects, the fragments of Toast's
page on prices put together to one answer, two of Uber's example payloads, and those of schema.org. `*-shaped`
have the published shape and were written here, since no published example has these fields.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from infra.settings import Settings
from schemas.errors import InputError
from schemas.menu import Menu
from schemas.menus.parts import OptionOverride
from services.cli.commands.menu import app
from services.tills.menus import schema_org, square, toast, uber
from services.tills.menus.detect import read_menu
from services.tills.menus.source import ImportedMenu, Overrides

DATA = Path(__file__).with_name("data")
DOLLARS = Overrides(currency="USD", time_zone="America/New_York")


def imported(name: str, overrides: Overrides = DOLLARS) -> ImportedMenu:
    return read_menu([(name, (DATA / name).read_bytes())], overrides)


def read(text: str | bytes, overrides: Overrides = DOLLARS, name: str = "menu.csv") -> ImportedMenu:
    return read_menu([(name, text if isinstance(text, bytes) else text.encode())], overrides)


def figures(menu: Menu) -> dict[str, dict[str, int]]:
    """Return prices by size (or "") by ref: items by their own, options by group and option."""
    found = {
        ref: {size: price}
        for item in menu.items
        for size, price in (item.prices or {"": item.price or 0}).items()
        if (ref := item.size_refs.get(size) or item.ref)
    }
    for group in menu.option_groups:
        found |= {f"{group.ref} {o.ref}": o.prices or {"": o.price} for o in group.options}
    return found


FIGURES = json.loads((DATA / "figures.json").read_bytes())


@pytest.mark.parametrize("name", FIGURES)
def test_refs_and_prices_are_those_of_the_source(name: str) -> None:
    assert figures(Menu.parse(imported(name).document)) == FIGURES[name]


READERS = {"schema": schema_org, "square": square, "toast": toast, "uber": uber}
# Values and places of values that say how to read others. The tests below have what they become.
FORM = re.compile(r"True|[A-Z]+(_[A-Z]+)*|[a-z]+day|https://schema.org/.*")
FORM_AT = re.compile(r".*(References/\d+|/sequence)")
FIGURE = re.compile(r"(min |max )?-?\d+|\d\d:\d\d")  # an example has many equal prices, limits and hours
IDS = ("id", "guid", "modifier_list_id", "name")
UNLISTED = json.loads((DATA / "unlisted.json").read_bytes())
"""Values that are neither in an imported menu nor under a place that is listed as not imported."""


def leaves(value: Any, owner: str = "", place: str = "") -> Iterator[tuple[str, str, str]]:
    """Yield (place, id of the part, value) of everything in a document: amounts in minor units, and limits as
    `min 1`."""
    if isinstance(value, dict):
        owner = next((value[name] for name in IDS if isinstance(value.get(name), str)), owner)
    for name, below in value.items() if isinstance(value, dict) else enumerate(value):
        if isinstance(below, dict | list):
            yield from leaves(below, owner, f"{place}/{name}")
        elif below not in (None, "", False):
            is_rate = re.search("percentage|rate", str(name))
            is_amount = not is_rate and re.fullmatch(r"\d+\.\d\d?", str(below))
            limit = re.match("(min|max)(?!_each)", str(name))
            text = str(int(Decimal(below) * 100) if is_amount else below)
            yield f"{place}/{name}", owner, f"{limit[0]} {text}" if limit else text


def values_by_ref(document: dict[str, Any]) -> dict[str, set[str]]:
    """Return the values of items, groups and options by the till's ids of them, or their names. Each has the
    tax rates, and an option the `max_each` of its group."""
    known = defaultdict[str, set[str]](set)
    parts = [(item, {}) for item in document["items"]]
    for group in document["option_groups"]:
        parts += [(group, {}), *((one, {"max": group.get("max_each")}) for one in group["options"])]
    for part, more in parts:
        for ref in (part.get("ref", part["name"]), *part.get("size_refs", {}).values()):
            for one in ref.split("/"):
                known[one] |= {value for _, _, value in leaves([part, more, document["taxes"]])}
    return known


@pytest.mark.parametrize("name", UNLISTED)
def test_an_example_is_imported_and_exported_without_loss(name: str) -> None:
    """Everything of the source is in the menu, figures in the part with the same id, or is listed; and the
    menu stays the same, byte for byte, when it is exported and imported again."""
    found = imported(name)
    text = re.sub(r"^.*json\">(.*)</script.*$", r"[\1]", (DATA / name).read_text(), flags=re.DOTALL)
    known = values_by_ref(found.document)
    everything = {part for _, _, value in leaves(found.document) for part in (value, *value.split("/"))}
    places = tuple(f"{place}/" for place, _ in found.not_imported if place != "/menus")
    listed = {field for _, what in found.not_imported for field in re.findall(r"`(\w+)`", what)}
    ignored = listed | READERS[re.split("[-_]", name)[0]].IGNORED
    ignored -= {"id", "guid", "name", "offers", "modifierOptionReferences"}
    assert {one for values in UNLISTED[name].values() for one in values} == {
        value
        for place, owner, value in leaves(json.loads(text, parse_float=Decimal))
        if not (f"{place}/".startswith(places) or ignored & {*place.split("/")})
        and not (FORM.fullmatch(value) or FORM_AT.fullmatch(place))
        and value not in (known.get(owner, everything) if FIGURE.fullmatch(value) else everything)
    }
    exported = Menu.parse(found.document).model_dump_json(exclude_none=True)
    again = read(exported, Overrides())
    assert again.not_imported == ()
    assert Menu.parse(again.document).model_dump_json(exclude_none=True) == exported


FREE_ROLL = OptionOverride(group="bread", option="roll", price=0)
PATTY = "option_groups/choose-patty"


def part(menu: Menu, path: str) -> Any:
    """Return what a path such as `items/latte/tax` leads to; parts by their ids."""
    found: Any = menu
    for step in path.split("/"):
        if isinstance(found, tuple):
            found = next(
                one for one in found if step in (getattr(one, "sku", None), getattr(one, "id", None))
            )
        else:
            found = getattr(found, step)
    return found


@pytest.mark.parametrize(
    ("name", "path", "value"),
    [
        ("square-published.json", "taxes/sales-tax/included", False),
        ("square-published.json", "taxes/sales-tax/rounding", "half_even"),
        ("square-shaped.json", "taxes/vat/included", True),
        ("square-shaped.json", "items/burrito/allergens", ("gluten", "chili")),
        ("square-shaped.json", "option_groups/meat/options/steak/option_groups", ("sauce",)),
        ("square-shaped.json", "option_groups/sauce/choose", "one"),
        ("square-shaped.json", "option_groups/extras/max_each", 1),
        ("square-shaped.json", "option_groups/extras-2/name", "Extras for Bowl"),
        ("toast-shaped.json", "option_groups/temperature/defaults", ("medium",)),
        ("toast-shaped.json", "option_groups/salad-dressing/free", 1),
        ("toast-shaped.json", "option_groups/sides/options/salad/option_groups", ("salad-dressing",)),
        ("uber-published.json", "items/coffee/hours", ()),
        ("uber-shaped.json", "taxes/tax-7-5/included", True),
        ("uber-shaped.json", "items/soup/option_groups", ("bread",)),
        ("uber-shaped.json", "items/soup/option_overrides", (FREE_ROLL,)),
        ("uber-shaped.json", "items/soup/allergens", ("milk",)),
        ("uber-shaped.json", "items/soup/diet", ("gluten free",)),
        ("uber-shaped.json", "items/stew/image", None),
        ("uber-shaped.json", "items/stew/sold_out_until/year", 2200),
        ("schema-org-published.html", "items/aloo-gobi-taco/diet", ("gluten free",)),
        ("schema-org-published.html", "currency", "USD"),
        ("uber-nested-published.json", f"{PATTY}/options/beef/option_groups", ("choose-type-of-beef",)),
    ],
)
def test_fields_of_vendors(name: str, path: str, value: object) -> None:
    given = Overrides() if name.startswith("schema") else DOLLARS
    assert part(Menu.parse(imported(name, given).document), path) == value


def test_an_item_on_two_menus_has_the_hours_of_both() -> None:
    steak = Menu.parse(imported("toast-shaped.json").document).items[0]
    assert list(map(str, steak.hours)) == [
        "mon, tue, wed, thu 09:00–18:00",
        "fri, sat 09:00–18:00",
        "fri, sat 20:00–23:00",
        "sun 00:00–24:00",
    ]


@pytest.mark.parametrize(
    ("name", "place", "words"),
    [
        ("square-published.json", "/objects/0", "“Mug”, the name of the only variation"),
        ("square-shaped.json", "/objects/2", "“Catering” is left out"),
        ("square-shaped.json", "/objects/4", "“Plate” is left out: it requires options that can't"),
        ("square-shaped.json", "/related_objects/6", "“Name for the cup” is left out: it takes a text"),
        ("square-shaped.json", "/related_objects/5", "“Guacamole” isn't there by default, since it costs"),
        ("toast-published.json", "/modifierGroupReferences/4", "left out: prices depend on how many"),
        ("toast-published.json", "/modifierOptionReferences/18", "“Goat Cheese” is left out"),
        ("toast-published.json", "/modifierOptionReferences/19", "the ids of the sizes of “Tomatoes”"),
        ("toast-published.json", "/menus/0/menuGroups/0/menuItems/1", "“Lunch Pizza” is left out"),
        ("toast-published.json", "/menus", "rates of taxes"),
        ("toast-shaped.json", "/menus/0/menuGroups/0/menuGroups/0/menuItems/0", "“Soup” is left out"),
        ("toast-shaped.json", "/menus/1/menuGroups/0/menuItems/1", "“Soup” is left out: it is the same as"),
        ("toast-shaped.json", "/menus/0/menuGroups/0/menuGroups/0/menuItems/1", "“Combo” is left out"),
        ("toast-shaped.json", "/modifierGroupReferences/2", "“Half a combo” is left out: it requires"),
        ("uber-shaped.json", "/items/1", "the end of the description of “Stew” the image of “Stew”, whose"),
        ("uber-nested-published.json", "/modifier_groups/4", "options inside those of “Choose type of beef”"),
        (
            "toast-shaped.json",
            "/menus/1/menuGroups/0/menuItems/0",
            "“Steak” is left out: it is the same as in Entrees",
        ),
        ("toast-shaped.json", "/menus/1/name", "`name`, and 1 more like it"),
        ("schema-org-published.html", "/0/hasMenu/hasMenuSection/hasMenuItem/nutrition", "`nutrition`"),
    ],
)
def test_fields_without_a_place_are_listed(name: str, place: str, words: str) -> None:
    assert words in " ".join(what for where, what in imported(name).not_imported if where == place)


def test_an_id_may_be_given_to_a_document_without_one() -> None:
    assert read('{"name": "m", "items": []}', Overrides(id="m")).document["id"] == "m"
    with pytest.raises(InputError, match="it has no `id`"):
        read('{"name": "m", "items": []}')


@pytest.mark.parametrize(
    ("cell", "currency", "minor"),
    [
        ("$4.50", "USD", 450),
        ("4,50 €", "EUR", 450),
        ("450", "JPY", 450),
        ("0.125", "KWD", 125),
    ],
)
def test_prices_are_exact(cell: str, currency: str, minor: int) -> None:
    menu = read(f'name,price\nsoup,"{cell}"\n', Overrides(currency=currency)).document
    assert Menu.parse(menu).items[0].price == minor


OURS = """{"id": "menu", "name": "m", "currency": "USD",
 "items": [{"sku": "a", "name": "pie", "aliases": ["Pie"], "price": 1}]}"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("name,price\nsoup,4.505\n", "row 2, column price: “4.505” is not a price in USD, such as 4.50"),
        ("name,price,available\nsoup,4,maybe\n", "row 2, column available: “maybe” is neither yes nor no"),
        ("name,price,number\nsoup,4,three\n", "row 2, column number: “three” is not a whole number"),
        ("name,price,groups\nsoup,4,big bread\n", "row 2, column groups: no group is called “big bread”"),
        ("name,price,tax\nsoup,4,City tax\n", "row 2, column tax: no tax is called “City tax”"),
        ("name,price,price L\nsoup,4,5\n", "row 2: give either `price` or `prices`"),
        ("field,value\ntax a,8 added\n\nname,price\nsoup,4\n", "row 2, column value: must be a rate such as"),
        (
            "field,value\ntax a,8\ntax b,1\n\nname,price,tax\nsoup,4,a;b\n",
            "row 6, column tax: an item has one tax: add the rates up",
        ),
        ("name,price,option\nsoup,4,rye\n", "row 2, column group: must not be empty"),
        ("field,value\nref,a\nname,price\nsoup,free\n", "row 4, column price: “free” is not a price"),
        (
            "name,price,groups\nsoup,4,bread\n\ngroup,option\nbread,rye\nbread,Rye\n",
            "row 6, column option: option name or alias 'rye' is already used at menu.csv row 5",
        ),
        (
            "name,price\nsoup,4\nSoup,5\n",
            "item name or alias 'soup' is already used at menu.csv row 2, column name",
        ),
        ("name,price\n,5\n", "row 2, column name: must not be empty"),
        ("name,price,color\nsoup,4,red\n", "menu.csv row 2: not imported: the column “color”"),
        (OURS, "menu: 1 items, 0 option groups, no problems"),
        (OURS, "/items/0/aliases/0: “Pie” reads like “pie”"),
        (OURS.replace(": 1", ": -1"), "/items/0/price: must be at least 0"),
        ('{"objects": [{"type": "ITEM"}]}', "/objects/0/id: is missing"),
        ('{"restaurantGuid": "x", "menus": 3}', "/menus: must be a list"),
    ],
)
def test_problems_are_listed_with_their_place(tmp_path: Path, text: str, line: str) -> None:
    file = tmp_path / "menu.csv"
    file.write_text(text)
    shown = CliRunner().invoke(app, ["check", str(file), "--currency", "USD"])
    assert line in shown.output
    assert shown.exit_code == (0 if "no problems" in shown.output else 1)


def test_a_menu_is_checked_where_no_home_can_be_made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = tmp_path / "menu.json"
    file.write_text(OURS)
    config = Settings(home=file / "home", llm_url="http://127.0.0.1:9/v1")
    monkeypatch.setattr("services.cli.commands.menu.settings", lambda: config)
    shown = CliRunner().invoke(app, ["check", str(file)])
    assert (shown.exit_code, "No orders tried: " in shown.output) == (0, True)


def test_a_converted_menu_is_a_menu_file() -> None:
    words = ["--id", "pizza", "--name", "Pizza", "--currency", "EUR"]
    shown = CliRunner().invoke(app, ["convert", str(DATA / "toast-published.json"), *words])
    assert "Goat Cheese" in shown.stderr
    menu = Menu.parse(json.loads(shown.stdout))
    assert (menu.id, menu.name, menu.currency) == ("pizza", "Pizza", "EUR")
    assert read(shown.stdout, Overrides()).document == json.loads(shown.stdout)


NAMED = """name,aliases,price,groups
latte,,4,MOD2 GRP
vanilla latte,,5,
beet salad,,1,
beat salad,,2,
B12,,3,
C14,the combo,3,
BLT,,3,
mozzarella,,3,

group,option,price,min
MOD2 GRP,cheese,1,1
MOD2 GRP,goat cheese,1,
MOD2 GRP,K1,1,
MOD2 GRP,10 inch,1,
MOD2 GRP,12 inch,1,
TOP3,mozzarella cheese,1,
"""


def test_confusing_names_give_warnings(tmp_path: Path) -> None:
    file = tmp_path / "menu.csv"
    file.write_text(NAMED)
    shown = CliRunner().invoke(app, ["check", str(file), "--currency", "USD"])
    assert shown.output.splitlines() == [
        "menu.csv row 17: not imported: the options “TOP3”, which no item leads to",
        "menu.csv row 2, column name: “latte” alone means this, not “vanilla latte”",
        "menu.csv row 12, column option: “cheese” alone means this, not “goat cheese”",
        "menu.csv row 4, column name: “beet salad” sounds like “beat salad”",
        "menu.csv row 6, column name: “B12” is a code: add an alias to say",
        "menu.csv row 12, column group: “MOD2 GRP” is a code, and customers are asked for it",
        "menu.csv row 14, column option: “K1” is a code: customers choose a MOD2 GRP by its name",
        "menu: 8 items, 1 option groups, no problems",
        "No orders tried: `--try 20` decodes generated ones with an engine of its own",
    ]
