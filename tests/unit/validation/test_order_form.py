"""The form in which a customer changes their cart: what it can't change stays as it is."""

from __future__ import annotations

import pytest

from schemas.cart import CartDraft
from schemas.transcript import Transcript
from schemas.wording import amount, minor_units
from services.validation.price import price_cart
from services.web.customers.order_form import line_forms, read_draft
from services.web.pages import Form
from tests.pizzeria import PIZZERIA, draft, topped

COLA = {"kind": "item", "heard": "a cola", "sku": "cola", "quantity": 1}
SAID = Transcript(text="a pizza well done and a cola no ice and I can't have nuts", confidence=1.0)
NOTES = (("preparation", "well done"), ("other", "no ice"), ("allergy", "I can't have nuts"))
PIZZA = topped(
    ("topping", "ham", "left", "light"),
    ("topping", "ham", "right", "extra"),
    ("sauce", "tomato", "left"),
    ("sauce", "cream", "right"),
)
NOTED = draft(PIZZA, COLA, notes=NOTES)


def sent(**changes: str) -> CartDraft:
    """What is read of the form as it is shown, with `changes`."""
    cart = price_cart(NOTED, PIZZERIA, 1, SAID, [])
    fields: dict[str, list[str]] = {"line": ["0", "1"]}
    for form in line_forms(cart, ["0", "1"], PIZZERIA):
        fields[f"quantity/{form.key}"] = [str(form.line.quantity)]
        for group in form.groups:
            taken = [choice.value for choice in group.choices if choice.chosen]
            fields[f"option/{form.key}/{group.id}"] = taken[:1] if group.one else taken
    read, _ = read_draft(
        Form(fields | {name: [text] for name, text in changes.items()}), NOTED, cart, PIZZERIA
    )
    return read


def test_what_is_shown_is_read_back() -> None:
    assert sent() == NOTED


@pytest.mark.parametrize(
    ("removed", "notes"),
    [("0", ["no ice", "I can't have nuts"]), ("1", ["well done", "I can't have nuts"])],
)
def test_a_line_that_is_left_out_takes_its_notes_with_it(removed: str, notes: list[str]) -> None:
    assert [note.heard for note in sent(**{f"remove/{removed}": "yes"}).notes] == notes


@pytest.mark.parametrize(
    ("minor", "currency", "text"), [(450, "USD", "4.50"), (450, "JPY", "450"), (5, "KWD", "0.005")]
)
def test_an_amount_is_read_as_it_was_written(minor: int, currency: str, text: str) -> None:
    assert amount(minor, currency) == text
    assert minor_units(text, currency) == minor
