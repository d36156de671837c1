"""The draft's shape: bounds, defaults, and the fields that it must never have."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from schemas.cart import (
    MAX_COUNT,
    MAX_HEARD_CHARS,
    MAX_LINES,
    MAX_OPTIONS,
    MAX_QUANTITY,
    Amount,
    CartDraft,
    ItemLine,
    NotOnMenuLine,
    OptionDraft,
)

ITEM: dict[str, Any] = {"kind": "item", "heard": "a latte", "sku": "latte", "quantity": 1}
OFF: dict[str, Any] = {"kind": "not_on_menu", "heard": "a bicycle", "quantity": 1}
OAT: dict[str, Any] = {"group": "milk", "id": "oat"}


def draft(*lines: dict[str, Any]) -> CartDraft:
    return CartDraft.model_validate({"lines": lines})


def test_kind_comes_first_and_heard_before_any_decision() -> None:
    """Field order is decoding order: what rests on the customer's words comes after them."""
    assert list(ItemLine.model_fields) == ["kind", "heard", "sku", "quantity", "size", "options"]
    assert list(NotOnMenuLine.model_fields) == ["kind", "heard", "quantity"]
    assert list(OptionDraft.model_fields) == ["group", "id", "amount", "count", "portion"]
    assert [amount.value for amount in Amount] == ["none", "light", "normal", "extra"]


def test_the_draft_has_no_money_and_no_customer() -> None:
    words = {"price", "discount", "total", "customer", "name", "currency", "phone", "tip", "coupon"}
    for model in (CartDraft, ItemLine, NotOnMenuLine, OptionDraft):
        assert not words & {part for field in model.model_fields for part in field.split("_")}


@pytest.mark.parametrize(
    "line",
    [
        {**ITEM, "price": 0},
        {**OFF, "sku": "latte"},
        {**ITEM, "quantity": 0},
        {**ITEM, "quantity": MAX_QUANTITY + 1},
        {**ITEM, "quantity": 1.5},
        {**ITEM, "quantity": "two"},
        {**ITEM, "heard": ""},
        {**ITEM, "heard": "   "},
        {**ITEM, "heard": "x" * (MAX_HEARD_CHARS + 1)},
        {**ITEM, "kind": "thing"},
        {**ITEM, "kind": "not_on_menu"},
        {**ITEM, "options": [{**OAT, "amount": "lots"}]},
        {**ITEM, "options": [{**OAT, "count": 0}]},
        {**ITEM, "options": [{**OAT, "count": MAX_COUNT + 1}]},
        {**ITEM, "options": [{**OAT, "price": 0}]},
        {**ITEM, "options": [OAT] * (MAX_OPTIONS + 1)},
        *({key: value for key, value in ITEM.items() if key != left_out} for left_out in ITEM),
    ],
)
def test_a_line_outside_the_bounds_is_refused(line: dict[str, Any]) -> None:
    with pytest.raises(ValidationError):
        draft(line)


def test_no_more_lines_than_the_bound() -> None:
    assert len(draft(*[ITEM] * MAX_LINES).lines) == MAX_LINES
    with pytest.raises(ValidationError):
        draft(*[ITEM] * (MAX_LINES + 1))
