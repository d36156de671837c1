"""A menu with toppings on halves, and drafts for it."""

from __future__ import annotations

from typing import Any

from schemas.cart import CartDraft
from schemas.menu import Menu
from tests.stand_ins import options

PIZZERIA = Menu.parse(
    {
        "id": "pizzeria",
        "name": "Pizzeria",
        "currency": "USD",
        "option_groups": [
            {"id": "topping", "name": "topping", "choose": "many", "halves": True, "options": [
                *options("olives", price=150), *options("ham", price=201), *options("basil", price=0)]},
            {"id": "sauce", "name": "sauce", "halves": True, "options": options("tomato", "cream", price=0)},
            {"id": "crust", "name": "crust", "options": options("thick crust", price=100)},
        ],
        "items": [
            {"sku": "pizza", "name": "cheese pizza", "price": 1000,
             "option_groups": ["topping", "sauce", "crust"]},
            {"sku": "cola", "name": "cola", "price": 250},
        ],
    }
)  # fmt: skip


def topped(*chosen: tuple[str, str, str] | tuple[str, str, str, str], quantity: int = 1) -> dict[str, Any]:
    """A pizza with options as (group, id, portion, amount)."""
    named = [dict(zip(("group", "id", "portion", "amount"), one, strict=False)) for one in chosen]
    return {"kind": "item", "heard": "pizza", "sku": "pizza", "quantity": quantity, "options": named}


def draft(*lines: dict[str, Any], notes: tuple[tuple[str, str], ...] = ()) -> CartDraft:
    """A draft of these lines, with notes as (kind, words)."""
    return CartDraft.model_validate(
        {"lines": lines, "notes": [{"kind": kind, "heard": words} for kind, words in notes]}
    )
