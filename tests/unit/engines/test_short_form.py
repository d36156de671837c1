"""Carts in one line of plain words, both ways, on all menus that orders were written for."""

from __future__ import annotations

from functools import cache

import pytest

from schemas.menu import Menu
from services.decoding.short_form import NOTHING, Line, Names, Unreadable, pieces
from services.training.orders import TUNED, Shop, shops
from services.training.score import cart_of

CAFE = Menu.parse(
    {
        "id": "cafe",
        "name": "Café",
        "currency": "EUR",
        "sizes": [{"id": "S", "name": "small"}, {"id": "L", "name": "large"}],
        "option_groups": [
            {
                "id": "heat",
                "name": "heat",
                "choose": "many",
                "options": [{"id": "hot", "name": "hot"}, {"id": "xhot", "name": "extra hot"}],
            },
            {
                "id": "fill",
                "name": "filling",
                "choose": "many",
                "options": [{"id": "cheese", "name": "cheese"}, {"id": "ham", "name": "ham"}],
            },
            {
                "id": "top",
                "name": "topping",
                "choose": "many",
                "options": [{"id": "grated", "name": "Cheese"}, {"id": "nuts", "name": "nuts; salted"}],
            },
        ],
        "items": [
            {"sku": "latte", "name": "Latte", "prices": {"S": 300, "L": 400}, "option_groups": ["heat"]},
            {"sku": "toast", "name": "Toast + Jam", "price": 300, "option_groups": ["fill", "top"]},
            {"sku": "roll", "name": "Roll", "price": 200, "option_groups": ["fill"]},
        ],
    }
)
NAMES = Names(CAFE)


@cache
def taught() -> dict[str, Shop]:
    """The menus of tests/told/taught with their orders, those that are tuned on as well."""
    return {shop.menu.id: shop for part in ("train", "tune") for shop in shops(part) if _taught(shop)}


def _taught(shop: Shop) -> bool:
    return shop.menu.id in TUNED or any(row.source.startswith("taught/") for row in shop.rows)


def option(group: str, id: str, amount: str = "normal", count: int = 1) -> Line:
    return {"group": group, "id": id, "amount": amount, "count": count}


def line(sku: str, *options: Line, quantity: int = 1, size: str | None = None) -> Line:
    return {"kind": "item", "sku": sku, "quantity": quantity, "size": size, "options": list(options)}


@pytest.mark.parametrize("name", sorted(taught()))
def test_every_cart_is_read_as_it_was_written(name: str) -> None:
    shop = taught()[name]
    whole = [
        row for row in shop.rows if not any("portion" in o for n in row.lines for o in n.get("options", ()))
    ]
    changed = [
        row.said
        for row in whole  # the short form has no halves
        if cart_of(shop.names.read(shop.names.write(row.lines))) != cart_of(row.lines)
    ]
    assert changed == []


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("nothing", []),
        ("2 ?", [{"kind": "not_on_menu", "quantity": 2}]),
        ("1 Latte", [line("latte")]),
        ("2 large | Latte; 1 Roll", [line("latte", quantity=2, size="L"), line("roll")]),
        ("1 Roll + no ham + light cheese",
         [line("roll", option("fill", "ham", "none"), option("fill", "cheese", "light"))]),
        ("1 Roll + extra ham x3", [line("roll", option("fill", "ham", "extra", 3))]),
        # A name that begins like an amount, and that amount of it.
        ("1 Latte + extra hot", [line("latte", option("heat", "xhot"))]),
        ("1 Latte + extra extra hot", [line("latte", option("heat", "xhot", "extra"))]),
        ("1 Latte + no extra hot", [line("latte", option("heat", "xhot", "none"))]),
        # Two groups of one item have a cheese; another item has one of them alone.
        ("1 Toast Jam + cheese (filling) + Cheese (topping)",
         [line("toast", option("fill", "cheese"), option("top", "grated"))]),
        ("1 Roll + cheese", [line("roll", option("fill", "cheese"))]),
        # A mark that parts a short form is no part of a name in it.
        ("1 Toast Jam + nuts salted", [line("toast", option("top", "nuts"))]),
    ],
)  # fmt: skip
def test_a_cart_is_a_line_of_plain_words(text: str, lines: list[Line]) -> None:
    assert NAMES.read(text) == lines
    assert NAMES.write(lines) == text


def test_case_and_space_do_not_matter() -> None:
    assert NAMES.read("  1 LARGE |  latte + Extra Hot ;1 roll ") == NAMES.read(
        "1 large | Latte + extra hot; 1 Roll"
    )
    assert NAMES.read("Nothing") == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("Latte", "'Latte' does not begin with a number"),
        ("0 Latte", "'0 Latte' does not begin with a number"),
        ("1 Latte; two Roll", "'two Roll' does not begin with a number"),
        ("", "'' does not begin with a number"),
        ("1 Mocha", "no item is called 'Mocha'; there are: Latte, Toast Jam, Roll"),
        ("1 huge | Latte", "no size of Latte is called 'huge'; there are: small, large"),
        ("1 large | Roll", "no size of Roll is called 'large'"),
        ("1 Latte + ham", "no option of Latte is called 'ham'; there are: hot, extra hot"),
        ("1 Toast Jam + cheese", "no option of Toast Jam is called 'cheese'; there are: cheese (filling)"),
        ("1 Roll + extra", "no option of Roll is called 'extra'"),
    ],
)
def test_what_is_no_cart_says_which_part(text: str, told: str) -> None:
    with pytest.raises(Unreadable) as raised:
        NAMES.read(text)
    assert str(raised.value).startswith(told)


def test_an_error_of_a_long_menu_is_short() -> None:
    items = [{"sku": f"i{n}", "name": f"Item {n}", "price": 1} for n in range(200)]
    names = Names(Menu.parse({"id": "long", "name": "Long", "currency": "EUR", "items": items}))
    with pytest.raises(Unreadable, match=r"and more$") as raised:
        names.read("1 Mocha")
    assert len(str(raised.value)) < 700


def test_a_short_form_falls_into_what_it_says_with_the_marks_before() -> None:
    text = "2 large | latte + no foam; 12 blueberry muffin; 1 ?"
    assert {text[slice(*span)]: said for span, said in pieces(text).items()} == {
        "2": "2", " large": "large", " | latte": "latte", " + no foam": "no foam",
        "; 12": "12", " blueberry muffin": "blueberry muffin", "; 1": "1", " ?": "?",
    }  # fmt: skip
    assert list(pieces(NOTHING).values()) == [NOTHING]
