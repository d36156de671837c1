"""The wire format and its mask, which follow the Pydantic source."""

from __future__ import annotations

import copy
import json
from typing import Any

import pytest

from schemas.cart import MAX_NOTES, CartDraft, Line, OptionLine
from schemas.compare import canonical
from schemas.menu import Menu
from services.decoding import wire
from services.decoding.menu_names import Names, Unreadable
from services.decoding.wire_mask import wire_mask
from services.decoding.wire_schema import CART, Object, wire_schema
from services.learning.training.examples import with_words
from services.learning.training.orders import Row, TrainingShop, shops
from services.learning.training.written_cart import in_place
from tests.pizzeria import PIZZERIA

MENU = Menu.parse(
    {
        "id": "corner",
        "name": "Corner",
        "currency": "USD",
        "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
        "option_groups": [
            {"id": "milk", "name": "milk", "choose": "one", "options": [{"id": "oat", "name": "oat milk"}]},
            {"id": "top", "name": "top", "choose": "many", "options": [{"id": "foam", "name": "foam"}]},
        ],
        "items": [
            {
                "sku": "latte",
                "name": "Latte",
                "prices": {"S": 400, "L": 500},
                "option_groups": ["milk", "top"],
            },
            {"sku": "macchiato", "name": "Latte Macchiato", "prices": {"S": 450}, "option_groups": ["milk"]},
            {"sku": "muffin", "name": 'Muffin "deluxe"', "price": 300},
        ],
    }
)
NAMES = Names(MENU)
SAID = "two large oat lattes no foam, a muffin and a spaceship"
OAT: OptionLine = {"group": "milk", "id": "oat"}
NO_FOAM: OptionLine = {"group": "top", "id": "foam", "amount": "none"}
SPELLED: list[tuple[list[Line], str]] = [
    ([], '{"lines":[]}'),
    ([{"sku": "muffin", "quantity": 1}], '{"lines":[{"item":"Muffin \\"deluxe\\""}]}'),
    (
        [{"sku": "latte", "quantity": 2, "size": "L", "options": [OAT, NO_FOAM]}],
        '{"lines":[{"item":"Latte","quantity":2,"size":"large",'
        '"options":["oat milk",{"option":"foam","amount":"none"}]}]}',
    ),
    (
        [{"sku": "latte", "quantity": 1, "options": [{**OAT, "count": 3}]}],
        '{"lines":[{"item":"Latte","options":[{"option":"oat milk","count":3}]}]}',
    ),
    (
        [{"kind": "not_on_menu", "heard": "a spaceship", "quantity": 2}],
        '{"lines":[{"not_on_menu":"a spaceship","quantity":2}]}',
    ),
]
REFUSED = {
    "no JSON": "2 large | Latte",
    "another menu's item": '{"lines":[{"item":"Mocha"}]}',
    "a size that the item lacks": '{"lines":[{"item":"Latte Macchiato","size":"large"}]}',
    "an option that the item lacks": '{"lines":[{"item":"Latte Macchiato","options":["foam"]}]}',
    "a default amount": ('{"lines":[{"item":"Latte","options":[{"option":"foam","amount":"normal"}]}]}'),
    "a number in words": '{"lines":[{"item":"Latte","quantity":two}]}',
    "a number as text": '{"lines":[{"item":"Latte","quantity":"2"}]}',
    "a number with a leading zero": '{"lines":[{"item":"Latte","quantity":02}]}',
    "a fraction": '{"lines":[{"item":"Latte","quantity":2.0}]}',
    "too many": '{"lines":[{"item":"Latte","quantity":1000}]}',
    "an unknown amount": '{"lines":[{"item":"Latte","options":[{"option":"foam","amount":"some"}]}]}',
    "an unknown key": '{"lines":[{"item":"Latte","price":1}]}',
    "a line without a kind": '{"lines":[{"quantity":2}]}',
    "no lines": "{}",
    "a list": "[]",
    "a text": '"lines"',
    "a line that is a list": '{"lines":[[]]}',
    "a name that is a list": '{"lines":[{"item":["Latte"]}]}',
}


@pytest.mark.parametrize(("lines", "text"), SPELLED)
def test_a_cart_has_one_spelling_that_round_trips_under_the_mask(lines: list[Line], text: str) -> None:
    assert wire.write(lines, NAMES) == text
    assert canonical(wire.read_cart(text, NAMES).lines) == canonical(lines)
    assert wire_mask(NAMES, SAID).accepts(text)


def test_a_default_number_may_be_written() -> None:
    text = '{"lines":[{"item":"Latte","quantity":1,"options":[{"option":"foam","count":1}]}]}'
    assert wire_mask(NAMES, SAID).accepts(text)
    (line,) = wire.read_cart(text, NAMES).lines
    assert (line["quantity"], line["options"][0]["count"]) == (1, 1)


@pytest.mark.parametrize("text", REFUSED.values(), ids=REFUSED.keys())
def test_the_mask_rejects_other_texts(text: str) -> None:
    assert not wire_mask(NAMES, SAID).accepts(text)


@pytest.mark.parametrize(
    "text", ['{"lines":[{"item":"La', '{"lines":[{"item":"Mocha"}]}', '{"lines":[{"quantity":2}]}', "2"]
)
def test_a_text_outside_the_mask_may_be_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        wire.read_cart(text, NAMES)


@pytest.mark.parametrize(
    ("words", "allowed"), [("a spaceship", True), ("spaces", False), ("a rocket", False)]
)
def test_items_that_are_not_on_the_menu_are_whole_words_of_the_transcript(words: str, allowed: bool) -> None:
    assert (
        wire_mask(NAMES, SAID).accepts(json.dumps({"lines": [{"not_on_menu": words}]}, separators=(",", ":")))
        == allowed
    )


def _edited(change: str) -> Object:
    schema: dict[str, Any] = copy.deepcopy(CartDraft.model_json_schema())
    item = schema["$defs"]["ItemLine"]["properties"]
    if change == "bound":
        item["quantity"]["maximum"] = 3
    elif change == "field":
        item["warmth"] = {"default": "warm", "enum": ["warm", "hot", "cold"], "type": "string"}
    return wire_schema(schema)


@pytest.mark.parametrize(
    ("change", "line", "before", "after"),
    [
        ("bound", '{"item":"Latte","quantity":3}', True, True),
        ("bound", '{"item":"Latte","quantity":4}', True, False),
        ("field", '{"item":"Latte","warmth":"hot"}', False, True),
        ("field", '{"item":"Latte","warmth":"warm"}', False, False),
    ],
)
def test_the_mask_follows_the_pydantic_source(change: str, line: str, before: bool, after: bool) -> None:
    text = f'{{"lines":[{line}]}}'
    accepted = [wire_mask(NAMES, SAID, cart).accepts(text) for cart in (CART, _edited(change))]
    assert accepted == [before, after]


def test_an_unsupported_schema_keyword_is_an_error() -> None:
    schema: dict[str, Any] = copy.deepcopy(CartDraft.model_json_schema())
    schema["$defs"]["ItemLine"]["properties"]["sku"]["pattern"] = "^a"
    with pytest.raises(TypeError, match="No wire format for pattern"):
        wire_schema(schema)


def _orders() -> list[tuple[TrainingShop, Row]]:
    return [(shop, row) for shop in shops("train") for row in shop.rows[::25]]


def test_every_training_order_round_trips() -> None:
    for shop, row in _orders():
        text = wire.write(with_words(row, row.utterance, (), shop), shop.names)
        assert wire_mask(shop.names, row.utterance).accepts(text), row.id
        placed = _placed(wire.read_cart(text, shop.names).lines, shop)
        assert canonical(placed) == canonical(row.lines), row.id


def _placed(lines: list[Line], shop: TrainingShop) -> list[Line]:
    """Return lines with nested options in their places, as validation does."""
    items = [(line, shop.menu.item(line.get("sku", ""))) for line in lines]
    return [
        line | {"options": in_place(line["options"], item, shop.names)} if item else line
        for line, item in items
    ]


HALVES = Names(PIZZERIA)


@pytest.mark.parametrize(
    ("text", "allowed"),
    [
        ('{"item":"cheese pizza","options":["ham",{"option":"olives","portion":"right"}]}', True),
        ('{"item":"cheese pizza","options":[{"option":"ham","amount":"extra","portion":"left"}]}', True),
        ('{"item":"cheese pizza","options":["ham",{"option":"thick crust","amount":"none"}]}', True),
        ('{"item":"cheese pizza","options":[{"option":"ham","portion":"whole"}]}', False),
        ('{"item":"cheese pizza","options":[{"option":"thick crust","portion":"left"}]}', False),
        ('{"item":"cola","options":["ham"]}', False),
    ],
)  # fmt: skip
def test_only_options_of_groups_with_halves_have_a_portion(text: str, allowed: bool) -> None:
    spelled = f'{{"lines":[{text}]}}'
    assert wire_mask(HALVES, SAID).accepts(spelled) == allowed
    if allowed:
        assert wire.write(wire.read_cart(spelled, HALVES).lines, HALVES) == spelled


@pytest.mark.parametrize(
    ("notes", "allowed"),
    [
        ('[{"preparation":"no foam"},{"allergy":"a spaceship"}]', True),
        ('[{"allergy":"a rocket"}]', False),
        ('[{"mood":"no foam"}]', False),
        ('[{"allergy":"no foam","quantity":2}]', False),
        ("[]", False),
        ("[" + ",".join(['{"diet":"no foam"}'] * (MAX_NOTES + 1)) + "]", False),
    ],
)
def test_notes_follow_the_lines_in_the_customers_words(notes: str, allowed: bool) -> None:
    text = f'{{"lines":[],"notes":{notes}}}'
    assert wire_mask(NAMES, SAID).accepts(text) == allowed
    if allowed:
        cart = wire.read_cart(text, NAMES)
        assert [(note.kind, note.heard) for note in cart.notes] == [
            ("preparation", "no foam"),
            ("allergy", "a spaceship"),
        ]
        assert wire.write(cart.lines, NAMES, cart.notes) == text
