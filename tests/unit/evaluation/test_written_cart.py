"""The notation for carts in orders files: one line of plain words."""

from __future__ import annotations

import pytest

from schemas.cart import Line, OptionLine
from services.decoding.menu_names import Names, Unreadable
from services.learning.training.written_cart import read_written
from tests.ambiguous_menu import CAFE

NAMES = Names(CAFE)


def option(group: str, id: str, amount: str = "normal", count: int = 1) -> OptionLine:
    return {"group": group, "id": id, "amount": amount, "count": count}


def line(sku: str, *options: OptionLine, quantity: int = 1, size: str | None = None) -> Line:
    return {"kind": "item", "sku": sku, "quantity": quantity, "size": size, "options": list(options)}


@pytest.mark.parametrize(
    ("text", "lines"),
    [
        ("nothing", []),
        ("Nothing", []),
        ("2 ?", [{"kind": "not_on_menu", "quantity": 2}]),
        ("2 ? fish tacos", [{"kind": "not_on_menu", "quantity": 2, "heard": "fish tacos"}]),
        ("1 Latte", [line("latte")]),
        ("2 large | Latte; 1 Roll", [line("latte", quantity=2, size="L"), line("roll")]),
        ("1 Roll + no ham + light cheese",
         [line("roll", option("fill", "ham", "none"), option("fill", "cheese", "light"))]),
        ("1 Roll + extra ham x3", [line("roll", option("fill", "ham", "extra", 3))]),
        ("  1 LARGE |  latte + Extra Hot ;1 roll ",
         [line("latte", option("heat", "xhot"), size="L"), line("roll")]),
        # A name that starts like an amount, with and without that amount.
        ("1 Latte + extra hot", [line("latte", option("heat", "xhot"))]),
        ("1 Latte + extra extra hot", [line("latte", option("heat", "xhot", "extra"))]),
        ("1 Latte + no extra hot", [line("latte", option("heat", "xhot", "none"))]),
        # Two groups of one item have a cheese; another item has only one of them.
        ("1 Toast Jam + cheese (filling) + Cheese (topping)",
         [line("toast", option("fill", "cheese"), option("top", "grated"))]),
        ("1 Roll + cheese", [line("roll", option("fill", "cheese"))]),
        # Names omit the notation's own characters.
        ("1 Toast Jam + nuts salted", [line("toast", option("top", "nuts"))]),
    ],
)  # fmt: skip
def test_a_cart_is_a_line_of_plain_words(text: str, lines: list[Line]) -> None:
    assert read_written(text, NAMES) == lines


@pytest.mark.parametrize(
    ("text", "message"),
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
def test_an_invalid_cart_is_refused_with_its_part(text: str, message: str) -> None:
    with pytest.raises(Unreadable) as raised:
        read_written(text, NAMES)
    assert str(raised.value).startswith(message)
