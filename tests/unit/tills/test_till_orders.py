"""Orders in the formats of tills. Square's are checked by its SDK's models. Toast and Deliverect publish no
schema files, so `data/` has schemas written from their public references."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, TypeAdapter
from square.types.catalog_object import CatalogObject
from square.types.create_order_request import CreateOrderRequest

from schemas.cart import CartDraft
from schemas.menu import Menu
from schemas.priced_cart import Cart
from schemas.transcript import Transcript
from services.tills.orders.common import TillCart, TillOption, TillOrder, till_cart
from services.tills.orders.deliverect import deliverect_order
from services.tills.orders.square import square_order
from services.tills.orders.toast import toast_order
from services.validation.price import price_cart

DATA = Path(__file__).parent / "data"
MENU = json.loads((DATA / "till-menu.json").read_text())
[MILK, *GROUPS], ITEMS, [TAX] = MENU["option_groups"], MENU["items"], MENU["taxes"]


def option(path: str, **more: Any) -> dict[str, Any]:
    group, _, name = path.partition("/")
    return {"group": group, "id": name, **more}


def line(sku: str, *options: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"kind": "item", "heard": sku, "sku": sku, "quantity": 1, "options": list(options), **more}


LATTES = line(
    "latte", option("milk/oat"), option("extra/shot", amount="extra"), option("extra/foam", amount="none"),
    size="L", quantity=2,
)  # fmt: skip
PIE = line("pie")
ALLERGY = {"kind": "allergy", "heard": "nuts"}


def cart_of(*lines: dict[str, Any], notes: tuple[dict[str, Any], ...] = (), menu: Any = MENU) -> Cart:
    draft = CartDraft.model_validate({"lines": lines, "notes": notes})
    transcript = Transcript(text=" ".join(one["heard"] for one in (*lines, *notes)), confidence=1.0)
    return price_cart(draft, Menu.parse(menu), 1, transcript, [])


def prepared(cart: Cart, **changed: Any) -> TillCart:
    return till_cart("ord_01", cart, Menu.parse(MENU | changed))


def unknown_fields(model: object) -> Iterator[str]:
    """Yield fields that Square's models lack; the SDK accepts any."""
    for part in model if isinstance(model, list) else [model]:
        if isinstance(part, BaseModel):
            yield from part.model_extra or ()
            for name in type(part).model_fields:
                yield from unknown_fields(getattr(part, name))


@pytest.mark.parametrize("name", ["square-published.json", "square-shaped.json"])
def test_the_imported_catalogs_fit_squares_own_models(name: str) -> None:
    catalog = json.loads((DATA / name).read_bytes())
    for part in [*catalog["objects"], *catalog.get("related_objects", ())]:
        assert list(unknown_fields(TypeAdapter(CatalogObject).validate_python(part))) == []


BOTH = cart_of(LATTES, PIE, notes=(ALLERGY,))


def test_a_square_order_names_variations_modifiers_and_taxes_of_the_catalog() -> None:
    order = square_order(prepared(BOTH), "LOCATION")
    assert not order.refusals
    body = order.body
    free = {"amount": 0, "currency": "USD"}
    assert body == {
        "idempotency_key": "ord_01",
        "order": {
            "location_id": "LOCATION",
            "reference_id": "ord_01",
            "line_items": [
                {
                    "uid": "0", "quantity": "2", "catalog_object_id": "SIZES/LATTE-L",
                    "note": "ALLERGY: nuts\nno foam", "applied_taxes": [{"tax_uid": "food"}],
                    "modifiers": [
                        {"uid": "0-0.0", "catalog_object_id": "OAT", "quantity": "1",
                         "base_price_money": {"amount": 60, "currency": "USD"}},
                        {"uid": "0-1.0", "catalog_object_id": "SHOT", "quantity": "2",
                         "base_price_money": {"amount": 75, "currency": "USD"}},
                        {"uid": "0-2.0", "catalog_object_id": "FOAM", "quantity": "0",
                         "base_price_money": free},
                    ],
                },
                {
                    "uid": "1", "quantity": "1", "catalog_object_id": "FOOD/PIE", "note": "ALLERGY: nuts",
                    "modifiers": [], "applied_taxes": [],
                },
            ],
            "taxes": [{"uid": "food", "catalog_object_id": "TAX", "scope": "LINE_ITEM"}],
        },
    }  # fmt: skip
    assert list(unknown_fields(CreateOrderRequest.model_validate(body))) == []
    assert order.calculate == {"order": body["order"]}


def test_a_toast_order_has_sizes_and_portions_as_modifiers_and_notes_as_special_requests() -> None:
    order = toast_order(prepared(BOTH), "DINING")
    assert not order.refusals
    body = order.body
    jsonschema.validate(body, json.loads((DATA / "toast-order.schema.json").read_text()))
    [check] = body["checks"]
    latte, pie = check["selections"]
    assert (latte["itemGroup"], latte["item"]) == ({"guid": "DRINKS"}, {"guid": "LATTE"})
    chosen = [
        (one["optionGroup"]["guid"], one["item"]["guid"]) for one in latte["modifiers"] if "item" in one
    ]
    assert chosen == [("SIZES", "LATTE-L"), ("MILK", "OAT"), ("EXTRA", "SHOT"), ("EXTRA", "SHOT")]
    assert {one["quantity"] for one in latte["modifiers"]} == {2}, "as often as the item itself"
    requests = [[m.get("displayName") for m in one["modifiers"]][-2:] for one in (latte, pie)]
    assert requests == [["ALLERGY: nuts", "no foam"], ["ALLERGY: nuts"]]


def test_a_deliverect_order_has_items_whose_prices_add_up_to_the_payment() -> None:
    order = deliverect_order(prepared(BOTH), None)
    assert not order.refusals
    body = order.body
    jsonschema.validate(body, json.loads((DATA / "deliverect-order.schema.json").read_text()))
    assert body["note"] == "ALLERGY: nuts"
    latte = body["items"][0]
    assert (latte["plu"], latte["price"], latte["quantity"], latte["remark"]) == (
        "SIZES/LATTE-L", 500, 2, "no foam",
    )  # fmt: skip
    assert [(s["plu"], s["price"], s["quantity"]) for s in latte["subItems"]] == [
        ("OAT", 60, 1), ("SHOT", 75, 2),
    ]  # fmt: skip
    items = sum(map(total, body["items"]))
    assert items + body["taxes"][0]["total"] == body["payment"]["amount"] == BOTH.total


def test_defaults_are_sent() -> None:
    plain = prepared(cart_of(line("latte", size="S")))
    [_size, milk] = toast_order(plain, "D").body["checks"][0]["selections"][0]["modifiers"]
    assert milk["item"] == {"guid": "WHOLE"}


MEALS = cart_of(
    line("meal", option("drink/coffee"), option("drink>coffee/L"), option("drink>coffee>milk/oat")),
    line("meal", option("drink/cola", count=2), option("drink>cola>slice/lemon")),
)


def test_nested_options_are_nested_at_the_till() -> None:
    square = square_order(prepared(MEALS), "L").body["order"]["line_items"]
    assert [
        [(one["catalog_object_id"], one.get("parent_modifier_uid")) for one in meal["modifiers"]]
        for meal in square
    ] == [
        [("COFFEE", None), ("SIZES/LATTE-L", "0-0.0"), ("OAT", "0-0.0")],
        [("COLA", None), ("LEMON", "1-0.0"), ("COLA", None), ("LEMON", "1-0.1")],
    ]
    toast = toast_order(prepared(MEALS), "D").body["checks"][0]["selections"]
    assert [
        [(one["item"]["guid"], [i["item"]["guid"] for i in one["modifiers"]]) for one in meal["modifiers"]]
        for meal in toast
    ] == [[("COFFEE", ["LATTE-L", "OAT"])], [("COLA", ["LEMON"])] * 2]
    items = deliverect_order(prepared(MEALS), None).body["items"]
    assert sum(map(total, items)) == MEALS.total


def total(item: dict[str, Any]) -> int:
    """Return the price of a Deliverect item with everything in it."""
    return item["quantity"] * (item["price"] + sum(map(total, item["subItems"])))


FREE_SYRUP = line("latte", option("syrup/vanilla", count=2), size="S")
HALF = line("pie", option("top/olives", portion="left"))
SQUARE, TOAST, DELIVERECT = (square_order, "L"), (toast_order, "L"), (deliverect_order, None)
Till = tuple[Callable[[TillCart, str | None], TillOrder], str | None]


@pytest.mark.parametrize("till", [SQUARE, TOAST, DELIVERECT], ids=["square", "toast", "deliverect"])
@pytest.mark.parametrize(
    ("cart", "changed", "codes"),
    [
        pytest.param(BOTH, {}, [], id="nothing"),
        pytest.param(cart_of(line("tip")), {}, ["no_ref"], id="an item without a ref"),
        pytest.param(
            cart_of(LATTES), {"option_groups": [MILK | {"options": MILK["options"][:1]}, *GROUPS]},
            ["unknown_option"], id="an option that is gone",
        ),
        pytest.param(
            cart_of(PIE), {"items": [ITEMS[0], ITEMS[1] | {"available": False}, *ITEMS[2:]]},
            ["item_unavailable"], id="sold out",
        ),
        pytest.param(
            cart_of(line("latte", option("milk/oat"), option("milk/whole"), size="S")), {},
            ["too_many_choices"], id="too many of a group",
        ),
        pytest.param(cart_of(line("latte")), {}, ["missing_size"], id="no size"),
    ],
)  # fmt: skip
def test_orders_that_every_till_refuses(
    cart: Cart, changed: dict[str, Any], codes: list[str], till: Till
) -> None:
    form, location = till
    found = [one.code for one in form(prepared(cart, **changed), location).refusals]
    assert [code for code in found if code != "other_total"][: len(codes)] == codes
    assert bool(found) == bool(codes)


@pytest.mark.parametrize(
    ("till", "cart", "changed", "codes"),
    [
        pytest.param((square_order, None), PIE, {}, ["no_location"], id="square, nowhere"),
        pytest.param((toast_order, None), PIE, {}, ["no_location"], id="toast, nowhere"),
        pytest.param(SQUARE, FREE_SYRUP, {}, [], id="square, a free portion"),
        pytest.param(TOAST, FREE_SYRUP, {}, ["other_total"], id="toast, a free portion"),
        pytest.param(SQUARE, HALF, {}, [], id="square, on one half"),
        pytest.param(TOAST, HALF, {}, ["other_total"], id="toast, on one half"),
        pytest.param(
            SQUARE, PIE, {"items": [ITEMS[0], ITEMS[1] | {"price": 950}, *ITEMS[2:]]}, ["other_total"],
            id="square, another price since",
        ),
        pytest.param(
            DELIVERECT, PIE, {"items": [ITEMS[0], ITEMS[1] | {"price": 950}, *ITEMS[2:]]}, [],
            id="deliverect, whose prices are sent",
        ),
    ],
)  # fmt: skip
def test_orders_that_only_some_tills_refuse(
    till: Till, cart: dict[str, Any], changed: dict[str, Any], codes: list[str]
) -> None:
    form, location = till
    assert [one.code for one in form(prepared(cart_of(cart), **changed), location).refusals] == codes


def taxed(prices: tuple[int, ...], tax: dict[str, Any], now: str = "food") -> TillCart:
    """Return a cart with a line for each price, for a menu whose tax has the id `now` by now."""
    items = [
        {"sku": f"p{n}", "name": f"pie {n}", "price": price, "tax": "food", "ref": f"FOOD/{n}"}
        for n, price in enumerate(prices)
    ]
    menu = MENU | {"taxes": [TAX | tax], "items": items, "option_groups": []}
    cart = cart_of(*(line(item["sku"]) for item in items), menu=menu)
    newest = menu | {"taxes": [TAX | tax | {"id": now}], "items": [item | {"tax": now} for item in items]}
    return till_cart("ord_01", cart, Menu.parse(newest))


# Tax by price, at 10%: the examples of "Rounding options" in Toast's Platform Guide, and of "Rounding rules"
# in Square's "Order price adjustments".
ROUNDED = {
    "half_even": {1234: 123, 1236: 124, 1235: 124, 112: 11, 115: 12, 125: 12, 135: 14, 505: 50},
    "half_up": {1234: 123, 1236: 124, 1235: 124, 1345: 135, 112: 11, 115: 12, 125: 13, 135: 14, 505: 51},
    "down": {1234: 123, 1235: 123, 1236: 123, 112: 11, 115: 11, 125: 12, 135: 13},
}


@pytest.mark.parametrize(
    ("rounding", "prices", "rate", "tax"),
    [
        *((rule, (price,), "10", tax) for rule, taxes in ROUNDED.items() for price, tax in taxes.items()),
        # Toast's page on one rate, rounded down or up.
        ("down", (5075,), "6.25", 317),
        ("up", (5075,), "6.25", 318),
        # Answers on Square's forum: taxes are rounded half to even, once for the order.
        ("half_even", (600,), "11.75", 70),
        ("half_even", (600,), "9.75", 58),
        ("half_even", (3020,), "11.75", 355),
        ("half_even", (1880, 695), "8.875", 229),
        ("half_even", (1500, 800, 695, 695), "8.875", 327),
    ],
)
def test_taxes_are_rounded_as_square_and_toast_published(
    rounding: str, prices: tuple[int, ...], rate: str, tax: int
) -> None:
    cart = taxed(prices, {"rate": rate, "rounding": rounding})
    assert cart.priced.total == sum(prices) + tax
    assert rounding != "half_even" or not square_order(cart, "L").refusals
    assert len(prices) > 1 or not toast_order(cart, "D").refusals


@pytest.mark.parametrize(
    ("prices", "tax", "square", "toast"),
    [
        ((600,), {"rate": "9.75"}, ["other_total"], []),
        ((505, 505), {"rounding": "half_even"}, [], ["other_total"]),
        ((505, 505), {"rounding": "half_even", "per_line": True}, ["other_total"], []),
    ],
)
def test_taxes_rounded_otherwise_than_the_till_does_are_refused(
    prices: tuple[int, ...], tax: dict[str, Any], square: list[str], toast: list[str]
) -> None:
    cart = taxed(prices, tax)
    assert [one.code for one in square_order(cart, "L").refusals] == square
    assert [one.code for one in toast_order(cart, "D").refusals] == toast


def test_an_order_whose_tax_has_another_id_by_now_is_not_sent_without_tax() -> None:
    cart = taxed((600,), {"rounding": "half_even"}, now="sales")
    assert [one.code for one in square_order(cart, "L").refusals] == ["other_total"]


@given(st.integers(0, 100_000), st.integers(1, 24))
def test_a_price_is_spread_over_portions_without_a_cent_more_or_less(price: int, portions: int) -> None:
    parts = TillOption(None, None, "shot", portions, price).parts()
    assert sum(many * one for many, one in parts) == price
    assert sum(many for many, _ in parts) == portions
