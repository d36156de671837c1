"""Options inside options: what a line may choose, what is asked, what it costs, and under what each is."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from schemas.cart import CartDraft, ItemLine
from schemas.errors import InvalidMenu
from schemas.menu import Menu
from schemas.transcript import Transcript
from services.cli.samples import SAMPLES
from services.decoding import wire
from services.decoding.menu_names import Names
from services.decoding.menu_text import menu_text
from services.decoding.wire_mask import check_menu, wire_mask
from services.learning.training.written_cart import read_written
from services.retrieval.names import names_of
from services.retrieval.retrieval import retrieve
from services.validation.alignment import aligned
from services.validation.facts import check_facts
from services.validation.portions import has_nested, placed, without_closed
from services.validation.price import price_cart, unit_price
from services.validation.questions import answered
from services.web.customers.order_form import line_forms
from services.web.staff.review_form import filled_from, line_view

SAID = Transcript(text="a meal", confidence=1.0)
DOCUMENT: dict[str, Any] = {
    "id": "taqueria", "name": "Taqueria", "currency": "USD",
    "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
    "option_groups": [
        {"id": "drink", "name": "drink", "required": True, "options": [
            {"id": "cola", "name": "cola", "item": "cola"},
            {"id": "horchata", "name": "horchata", "price": 50, "item": "horchata"},
            {"id": "water", "name": "water"}]},
        {"id": "ice", "name": "ice", "options": [
            {"id": "ice", "name": "ice"}, {"id": "crushed", "name": "crushed ice", "prices": {"L": 20}}]},
        {"id": "tacos", "name": "tacos", "max": 3, "options": [
            {"id": "pork", "name": "pork taco", "option_groups": ["salsa"]},
            {"id": "fish", "name": "fish taco", "price": 75, "option_groups": ["salsa", "side"]}]},
        {"id": "salsa", "name": "salsa", "options": [
            {"id": "red", "name": "red salsa", "price": 25, "option_groups": ["heat"]}]},
        {"id": "heat", "name": "heat", "required": True, "defaults": ["mild"], "options": [
            {"id": "mild", "name": "mild"}, {"id": "hot", "name": "hot", "price": 10}]},
        {"id": "side", "name": "side", "options": [{"id": "rice", "name": "rice", "price": 150}]},
    ],
    "items": [
        {"sku": "meal", "name": "taco meal", "price": 1000, "allergens": ["wheat"],
         "option_groups": ["drink", "tacos"]},
        {"sku": "duo", "name": "drinks for two", "price": 500, "option_groups": ["drinks"]},
        {"sku": "cola", "name": "cola", "prices": {"S": 200, "L": 300}, "option_groups": ["ice"]},
        {"sku": "horchata", "name": "horchata", "prices": {"S": 300, "L": 420}, "default_size": "S",
         "allergens": ["milk"]},
    ],
}  # fmt: skip
DOCUMENT["option_groups"].append({**DOCUMENT["option_groups"][0], "id": "drinks", "name": "drinks", "max": 2})
DOCUMENT["option_groups"][-1].pop("required")
MENU = Menu.parse(DOCUMENT)
NAMES = Names(MENU)


def ordered(written: str, menu: Menu = MENU) -> CartDraft:
    """A draft of a cart as people write it."""
    lines = read_written(written, Names(menu))
    return CartDraft.model_validate({"lines": [line | {"heard": "a meal"} for line in lines]})


def options_of(draft: CartDraft) -> list[str]:
    return [f"{o.group}/{o.id}" for line in draft.lines if isinstance(line, ItemLine) for o in line.options]


OPTIONS = [
    ("1 taco meal", [], 1000, ["missing_required_option"]),
    ("1 taco meal + water", ["drink/water"], 1000, []),
    ("1 taco meal + cola", ["drink/cola"], 1000, ["missing_required_option"]),
    ("1 taco meal + cola + large", ["drink/cola", "drink>cola/L"], 1100, []),
    # The size that comes by default is in the price of the option; a dearer one costs the difference.
    ("1 taco meal + horchata", ["drink/horchata"], 1050, ["option_defaulted"]),
    ("1 taco meal + large + horchata", ["drink>horchata/L", "drink/horchata"], 1170, []),
    # Prices by size go by the size of the drink.
    ("1 taco meal + cola + small + crushed ice",
     ["drink/cola", "drink>cola/S", "drink>cola>ice/crushed"], 1000, []),
    ("1 taco meal + cola + large + crushed ice",
     ["drink/cola", "drink>cola/L", "drink>cola>ice/crushed"], 1120, []),
    # Three levels deep; what is inside an option is for each portion of it.
    ("1 taco meal + water + pork taco x2 + red salsa + hot",
     ["drink/water", "tacos/pork", "tacos>pork>salsa/red", "tacos>pork>salsa>red>heat/hot"], 1070, []),
    ("1 taco meal + water + rice", ["drink/water", "tacos>fish>side/rice"], 1000, ["option_unclear"]),
    ("1 taco meal + water + large", ["drink/water", ">/L"], 1000, ["option_unclear"]),
    ("1 taco meal + no cola + large",
     ["drink/cola", ">/L"], 1000, ["option_unclear", "missing_required_option"]),
    # Two own it: no guess.
    ("1 taco meal + water + pork taco + fish taco + red salsa",
     ["drink/water", "tacos/pork", "tacos/fish", ">>salsa/red"], 1075, ["option_unclear"]),
    ("1 drinks for two + cola + horchata + large", ["drinks/cola", "drinks/horchata", ">/L"], 550,
     ["option_unclear", "missing_required_option", "option_defaulted"]),
    # A size comes in no amounts.
    ("1 taco meal + cola + extra large", ["drink/cola", "drink>cola/L"], 1200, ["option_unclear"]),
]  # fmt: skip


@pytest.mark.parametrize(("written", "options", "price", "codes"), OPTIONS)
def test_options_inside_options(written: str, options: list[str], price: int, codes: list[str]) -> None:
    draft = ordered(written)
    assert options_of(draft) == options
    (line,) = price_cart(draft, MENU, 1, SAID, []).lines
    assert line.unit_price == price
    assert [found.code for found in check_facts(draft, MENU)] == codes
    is_open = {"missing_required_option", "option_unclear"} & set(codes) and "extra" not in written
    assert line.price_is_minimum == bool(is_open)


def test_a_choice_inside_an_option_is_asked_once_that_is_chosen() -> None:
    draft, asked = ordered("1 taco meal"), []
    while questions := [found.question for found in check_facts(draft, MENU) if found.question]:
        asked.append((questions[0].id, [(one.id, one.price) for one in questions[0].answers]))
        draft = answered(draft, questions[0], questions[0].answers[0].id)
    assert asked == [
        ("0/options/drink", [("cola", 1000), ("horchata", 1050), ("water", 1000)]),
        ("0/options/drink>cola", [("S", 1000), ("L", 1100)]),
    ]


def test_a_question_names_the_option_that_it_is_about() -> None:
    (found,) = check_facts(ordered("1 taco meal + cola"), MENU)
    assert found.message == "Which cola size would you like with your taco meal?"
    spanish = MENU.model_copy(update={"language": "es"})
    assert "tamaño de cola" in check_facts(ordered("1 taco meal + cola"), spanish)[0].message


def test_a_cart_has_each_option_behind_the_one_that_it_is_under() -> None:
    draft = ordered("1 taco meal + hot + large + red salsa + cola + pork taco")
    (line,) = price_cart(draft, MENU, 1, SAID, []).lines
    assert [(one.name, one.under and (one.under.group, one.under.id)) for one in line.options] == [
        ("cola", None),
        ("large", ("drink", "cola")),
        ("pork taco", None),
        ("red salsa", ("tacos", "pork")),
        ("hot", ("tacos>pork>salsa", "red")),
    ]
    assert "under" not in line.options[0].model_dump()


@pytest.mark.parametrize(
    ("written", "allergens"),
    [("taco meal + water", ["wheat"]), ("taco meal + horchata", ["wheat", "milk"]), ("small | cola", [])],
)
def test_a_line_has_the_allergens_of_its_item_and_of_those_among_its_options(
    written: str, allergens: list[str]
) -> None:
    (line,) = price_cart(ordered(f"1 {written}"), MENU, 1, SAID, []).lines
    assert line.allergens == allergens


def test_an_item_that_is_sold_out_is_sold_out_as_an_option() -> None:
    items = tuple(i.model_copy(update={"available": i.sku != "horchata"}) for i in MENU.items)
    menu = MENU.model_copy(update={"items": items})
    codes = [found.code for found in check_facts(ordered("1 taco meal + horchata + small"), menu)]
    assert codes == ["option_unavailable"]


def test_what_was_inside_an_option_goes_with_it() -> None:
    draft = ordered("1 taco meal + cola + large + crushed ice")
    (line,) = draft.lines
    assert isinstance(line, ItemLine)
    water = line.options[0].model_copy(update={"id": "water"})
    changed = without_closed(line.model_copy(update={"options": (water, *line.options[1:])}), MENU)
    assert changed.options == (water,)


def test_the_model_sees_writes_and_reads_names_in_one_flat_list() -> None:
    text = menu_text(MENU, NAMES).splitlines()
    assert "drink (one): cola [small, large] {ice}, horchata [small, large], water" in text
    assert "tacos: pork taco {salsa}, fish taco {salsa, side}" in text
    written = '{"lines":[{"item":"taco meal","options":["cola","large","pork taco","red salsa"]}]}'
    assert wire_mask(NAMES, "a meal").accepts(written)
    assert not wire_mask(NAMES, "a meal").accepts('{"lines":[{"item":"cola","options":["large"]}]}')
    lines = wire.read_cart(written, NAMES).lines
    assert wire.write(lines, NAMES) == written
    spoken = "a taco meal with a large cola and a pork taco with red salsa"
    draft = placed(aligned(lines, spoken, retrieve(spoken, names_of(MENU))), MENU)
    assert options_of(draft) == ["drink/cola", "drink>cola/L", "tacos/pork", "tacos>pork>salsa/red"]
    assert draft.lines[0].heard == spoken.removeprefix("a ")
    assert wire.write(draft.model_dump(mode="json")["lines"], NAMES) == written


@pytest.mark.parametrize(("written", "nested"), [("1 taco meal", True), ("1 large | cola", False)])
def test_what_the_shipped_model_never_learned_is_known(written: str, nested: bool) -> None:
    assert has_nested(ordered(written), MENU) is nested


def test_forms_show_what_is_open_and_ask_staff_what_one_without_a_place_is() -> None:
    draft = ordered("1 taco meal + cola + large")
    (form,) = line_forms(price_cart(draft, MENU, 1, SAID, []), ["0"], MENU)
    assert [group.id for group in form.groups] == ["drink", "drink>cola", "drink>cola>ice", "tacos"]
    (fields,) = filled_from(ordered("1 taco meal + water + large")).lines
    row = line_view(fields, MENU, None, ()).options[1]
    assert row.filled.key not in {key for group in row.choices.values() for key in group}
    assert "horchata size" in row.choices


@pytest.mark.parametrize(
    ("group", "option", "pointer"),
    [
        (0, {"item": "tea"}, "/options/0/item"),
        (0, {"option_groups": ["ice"]}, "/options/0"),
        (2, {"option_groups": ["salsa", "tea"]}, "/options/0/option_groups/1"),
        (2, {"option_groups": ["salsa", "salsa"]}, "/options/0/option_groups"),
        (4, {"option_groups": ["salsa"]}, "/options/0"),
        (5, {"option_groups": ["tacos"]}, "/options/0"),
        (1, {"option_groups": ["halved"]}, "/options/0"),
        (-1, {"option_groups": ["ice"]}, "/options/0"),
    ],
)
def test_what_an_option_may_not_open_is_named_by_its_pointer(
    group: int, option: dict[str, Any], pointer: str
) -> None:
    document = copy.deepcopy(DOCUMENT)
    halved = {"id": "halved", "name": "halved", "halves": True, "options": [{"id": "a", "name": "a"}]}
    document["option_groups"].append(halved)
    document["option_groups"][group]["options"][0] |= option
    with pytest.raises(InvalidMenu) as caught:
        Menu.parse(document)
    at = range(len(document["option_groups"]))[group]
    assert f"/option_groups/{at}{pointer}" in [path for path, _ in caught.value.problems]


def test_options_inside_options_are_counted_together() -> None:
    document = copy.deepcopy(DOCUMENT)
    for group in document["option_groups"][2:5]:
        group["options"] = [{**group["options"][0], "id": f"a{n}", "name": f"a {n}"} for n in range(30)]
        group["defaults"] = []
    with pytest.raises(InvalidMenu, match="over 20000 options with those inside options"):
        Menu.parse(document)


@pytest.mark.parametrize(
    ("shop", "written", "price", "tax"),
    [
        ("stone-oven-pizza", "1 large | cheese pizza + left pepperoni + right mushrooms", 2158, 178),
        (
            "casa-mirlo",
            "1 Mirlo meal + two tacos + carne asada + chips + salsa verde + cola + large",
            1670,
            159,
        ),
        ("linden-street-cafe", "1 breakfast deal + breakfast tea + large", 755, 126),
    ],
)
def test_the_sample_shops_are_whole_menus(shop: str, written: str, price: int, tax: int) -> None:
    menu, notes = Menu.read(json.loads((SAMPLES / "shops" / f"{shop}.json").read_text(encoding="utf-8")))
    check_menu(menu)
    assert (notes, 25 <= len(menu.items) <= 40) == ((), True)
    cart = price_cart(ordered(written, menu), menu, 1, SAID, [])
    assert (cart.subtotal, [one.amount for one in cart.taxes], cart.total_is_minimum) == (price, [tax], False)


def test_an_option_of_a_default_is_open_with_it() -> None:
    drink = {**DOCUMENT["option_groups"][0], "defaults": ["cola"]}
    menu = Menu.parse({**DOCUMENT, "option_groups": [drink, *DOCUMENT["option_groups"][1:]]})
    item = menu.item("meal")
    assert item is not None
    (line,) = ordered("1 taco meal").lines
    assert isinstance(line, ItemLine)
    assert unit_price(line, item, menu).is_minimum
    asked = [found.question.id for found in check_facts(CartDraft(lines=(line,)), menu) if found.question]
    assert asked == ["0/options/drink>cola"]
