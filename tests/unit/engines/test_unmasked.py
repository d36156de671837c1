"""A cart scored without the mask: every token's score lands on the field whose value it begins in."""

from __future__ import annotations

import json
import math
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from services.decoding.unmasked import END, Token, read, request, score, values, written

CART = '{"lines":[{"kind":"item","heard":"a café","sku":"latte","quantity":2,"options":[{"id":"oat"}]}]}'
SURE, UNSURE = math.log(0.9), math.log(0.2)


def pieces(text: str, *cuts: str) -> list[str]:
    """`text` cut into these pieces and what lies between them."""
    return [piece for piece in re.split(f"({'|'.join(map(re.escape, cuts))})", text) if piece]


def spelled(text: str) -> dict[str, str]:
    return {pointer: text[begin:end] for (begin, end), pointer in values(text).items()}


def test_values_are_found_by_their_pointers() -> None:
    assert spelled(CART) == {
        "/lines/0/kind": '"item"',
        "/lines/0/heard": '"a café"',
        "/lines/0/sku": '"latte"',
        "/lines/0/quantity": "2",
        "/lines/0/options/0/id": '"oat"',
    }
    assert spelled('{"lines":[]}') == {}
    assert list(spelled('{"lines":[{"a":1},{"a":2},{"b":[{"c":3},{"c":4}]}]}')) == [
        "/lines/0/a", "/lines/1/a", "/lines/2/b/0/c", "/lines/2/b/1/c",
    ]  # fmt: skip


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
    found = spelled(json.dumps(document, ensure_ascii=False, separators=(",", ":")))
    assert {pointer: json.loads(text) for pointer, text in found.items()} == leaves(document)


def test_a_fields_probability_is_that_of_all_its_tokens() -> None:
    cut = pieces(CART, '"sku":', '"lat', 'te"', "2")
    scored = score(CART, [Token(piece, SURE if piece in ('"lat', 'te"') else 0.0, 1) for piece in cut])
    assert scored.probability["/lines/0/sku"] == pytest.approx(0.81)
    assert scored.probability["/lines/0/quantity"] == pytest.approx(1.0)
    assert scored.overruled == {}


def test_tokens_that_were_not_the_models_first_choice_are_counted_by_field() -> None:
    cut = [*pieces(CART, '"sku":', '"lat', 'te"', '"quantity":', "2", "}]}"), "<|im_end|>"]
    ranks = {'"lat': 3, 'te"': 1, "2": 2, "<|im_end|>": 9}
    scored = score(CART, [Token(piece, UNSURE, ranks.get(piece, 1)) for piece in cut])
    assert scored.overruled == {"/lines/0/sku": 1, "/lines/0/quantity": 1, END: 1}


def test_parts_of_a_character_do_not_shift_what_follows() -> None:
    cut = pieces(CART, '"a caf', "é", '"lat', 'te"', "2")
    at = cut.index("é")
    cut[at : at + 1] = ["\ufffd", "\ufffd"]
    scored = score(CART, [Token(piece, UNSURE if piece == "2" else 0.0, 1) for piece in cut])
    assert scored.probability["/lines/0/quantity"] == pytest.approx(0.2)
    assert scored.probability["/lines/0/sku"] == pytest.approx(1.0)


def test_only_the_answers_tokens_are_read() -> None:
    assert request("m", [1, 2], [3, 4])["prompt"] == [1, 2, 3, 4]

    def at(token: int, rank: int) -> dict[str, dict[str, Any]]:
        return {str(token): {"logprob": -0.5, "rank": rank, "decoded_token": f"t{token}"}}

    document = {"choices": [{"prompt_logprobs": [None, at(2, 5), at(3, 1), at(4, 2)]}]}
    assert read(document, [3, 4]) == [Token("t3", -0.5, 1), Token("t4", -0.5, 2)]
    with pytest.raises(KeyError):
        read(document, [3, 9])


def test_llama_cpps_answer_tells_each_tokens_score_and_whether_it_came_first() -> None:
    def at(token: int, text: str, logprob: float, first: int) -> dict[str, Any]:
        return {"id": token, "token": text, "logprob": logprob, "top_logprobs": [{"id": first}]}

    content = [at(3, '"lat', -0.5, 3), at(4, 'te"', -2.0, 9), at(5, "", 0.0, 5)]
    document = {"choices": [{"logprobs": {"content": content}}]}
    assert written(document) == [Token('"lat', -0.5, 1), Token('te"', -2.0, 2), Token("", 0.0, 1)]
    with pytest.raises(TypeError):
        written({"choices": [{"logprobs": None}]})
