"""Labels for the fit: what the cart of a recording got right, field by field."""

from __future__ import annotations

from typing import Any

from services.validation.alignment import KINDS
from services.validation.confidence import FEATURES, models, probability
from tests.bench.fields.fit import SIGNS, Judged, judge
from tests.stand_ins import CAFE, speech

OAT = {"group": "milk", "id": "oat", "amount": "normal", "count": 1}


def line(sku: str, quantity: int = 1, size: str | None = None, *options: dict[str, Any]) -> dict[str, Any]:
    return {"kind": "item", "sku": sku, "quantity": quantity, "size": size, "options": list(options)}


def judged(meant: dict[str, Any], *, overruled: int = 0) -> Judged:
    """Two large oat lattes, heard and written as such, where `meant` was said."""
    row = {
        "source": "tuned",
        "rung": "clean",
        "group": "voice",
        "transcript": speech("two large oat lattes").model_dump(mode="json"),
        "lines": [line("latte", 2, "L", OAT)],
        "gold": [meant],
        "logprob": 0.0,
        "overruled": overruled,
    }
    return judge(row, CAFE)


def labels(meant: dict[str, Any]) -> dict[str, bool | None]:
    return {label.features.name: label.right for label in judged(meant).labels}


def test_a_cart_that_is_right_is_right_in_each_field() -> None:
    found = judged(line("latte", 2, "L", OAT))
    assert (found.exact, found.probability) == (True, 1.0)
    assert [label.right for label in found.labels] == [True] * 5


def test_a_wrong_value_is_wrong_alone_and_makes_its_line_wrong() -> None:
    found = labels(line("latte", 2, "S", OAT))
    assert found == {"sku": True, "quantity": True, "size": False, "options/milk/oat": True, "heard": False}


def test_of_a_wrong_item_nothing_else_can_be_said() -> None:
    found = labels(line("mocha", 2))
    assert found == {"sku": False, "quantity": None, "size": None, "options/milk/oat": None, "heard": False}


def test_the_probability_of_an_overruled_answer_is_nothing() -> None:
    assert judged(line("latte", 2, "L", OAT), overruled=1).probability == 0.0


def test_the_shipped_table_counts_every_feature_the_right_way() -> None:
    for kinds in models().values():
        assert set(kinds) == set(KINDS)
        for model in kinds.values():
            signs = [SIGNS[name] for name in FEATURES]
            assert all(sign * weight >= 0 for sign, weight in zip(signs, model.weights, strict=True))
            assert 0 < probability(model, (0.0,) * len(FEATURES)) < 1
