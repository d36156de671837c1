"""What is made of a server's probabilities: the mass outside the mask, by hand."""

from __future__ import annotations

import math
from typing import Any

import pytest

from services.engines.masks.mask import BYTES, Mask
from tests.bench.masks.illegal_mass import EXAMPLE_TURNS, grammar, steps, summary, told, with_examples
from tests.bench.orders import sample

LARK = '%llguidance {}\nstart: "ab" | "ac"\n'


def token(text: str, *likeliest: tuple[str, float]) -> dict[str, Any]:
    tops = [{"id": ord(sign), "logprob": math.log(chance)} for sign, chance in likeliest]
    return {"token": text, "id": ord(text), "top_logprobs": tops}


CONTENT = [token("a", ("x", 0.5), ("a", 0.4)), token("c", ("c", 0.75), ("d", 0.05), ("b", 0.2))]


def test_the_mass_lies_between_what_was_told_and_what_may_be_left() -> None:
    first, second = steps(CONTENT, BYTES, LARK)
    assert (first.low, first.high, first.overruled) == (pytest.approx(0.5), pytest.approx(0.6), True)
    assert (second.low, second.high, second.overruled) == (pytest.approx(0.05), pytest.approx(0.05), False)
    found = told([first, second])
    assert found["stays_high"] == pytest.approx(0.5 * 0.95)
    assert found["stays_low"] == pytest.approx(0.4 * 0.95)
    assert found["overruled"] == 1


def test_an_answer_of_another_mask_is_no_measurement() -> None:
    with pytest.raises(ValueError, match="outside the mask"):
        steps([token("x", ("x", 1.0))], BYTES, LARK)


def test_the_prompt_keeps_its_rules_and_the_order_and_has_the_first_examples() -> None:
    (order,) = sample(1)
    whole = order.messages()
    none, two = with_examples(order, 0), with_examples(order, 2)
    assert none == [whole[0], whole[-1]]
    assert two == [*whole[: 1 + 2 * EXAMPLE_TURNS], whole[-1]]
    cart = '{"lines": []}'
    assert Mask(grammar(order, spaces=True), "", 0).accepts(cart)
    assert not Mask(grammar(order, spaces=False), "", 0).accepts(cart)


def test_figures_are_by_number_of_examples() -> None:
    own = told(steps(CONTENT, BYTES, LARK))
    row = {"id": "a", "examples": 0, "failures": ["no JSON", ""], "with_spaces": own, "without_spaces": own}
    found = summary([row, {**row, "id": "b", "failures": ["", ""]}, {**row, "examples": 1}])
    assert list(found) == ["0", "1"]
    assert found["0"]["orders"] == 2
    assert found["0"]["no_cart_greedy"][0] == 1
    assert found["0"]["no_cart_drawn"][0] == 0
    assert found["0"]["with_spaces"]["overruled_share"] == 0.5
