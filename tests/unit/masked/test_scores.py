"""A cart scored without the mask: every token's score lands on the field whose value it begins in."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.clients.masked.saycart_masked import Token, probabilities, values

CART = '{"lines":[{"kind":"item","heard":"a café","sku":"latte","quantity":2,"options":[{"id":"oat"}]}]}'
SURE, UNSURE = math.log(0.9), math.log(0.2)


def pieces(text: str, *cuts: str) -> list[str]:
    """`text` cut into these pieces and what lies between them."""
    return [piece for piece in re.split(f"({'|'.join(map(re.escape, cuts))})", text) if piece]


JSON = st.recursive(
    st.text(max_size=8) | st.integers() | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.from_regex(r"\A[a-z]{1,3}\Z"), inner),
    max_leaves=8,
)


@given(JSON)
def test_every_value_of_any_json_is_spelled_by_its_span(document: Any) -> None:
    def leaves(value: Any, at: str = "") -> dict[str, Any]:
        if not isinstance(value, dict | list):
            return {at: value}
        inside = value.items() if isinstance(value, dict) else enumerate(value)
        return {p: v for key, part in inside for p, v in leaves(part, f"{at}/{key}").items()}

    document = {"d": document}
    text = json.dumps(document, ensure_ascii=False, separators=(",", ":"))
    found = {pointer: json.loads(text[begin:end]) for (begin, end), pointer in values(text).items()}
    assert found == leaves(document)


@pytest.mark.parametrize("accent", [("é",), ("\ufffd", "\ufffd")], ids=["whole", "in parts"])
def test_a_fields_probability_is_that_of_all_its_tokens(accent: tuple[str, ...]) -> None:
    """Parts of a character, which a server shows as such, do not shift what follows."""
    cut = pieces(CART, "é", '"sku":', '"lat', 'te"', "2")
    at = cut.index("é")
    cut[at : at + 1] = accent
    scores = {'"lat': SURE, 'te"': SURE, "2": UNSURE}
    found = probabilities(CART, [Token(piece, scores.get(piece, 0.0), 1) for piece in cut], values(CART))
    assert found["/lines/0/sku"] == pytest.approx(0.81)
    assert found["/lines/0/quantity"] == pytest.approx(0.2)
