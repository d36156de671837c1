"""Labels for the fit: what a hearing's cart got right, field by field."""

from __future__ import annotations

from typing import Any

from schemas.transcript import Transcript
from services.checks.confidence import FEATURES, models, probability
from services.checks.traces import KINDS
from tests.bench.fields.fit import SIGNS
from tests.bench.fields.labels import Hearing, Judged, judge
from tests.bench.hearing.agreement import compare
from tests.stand_ins import CAFE, speech

OAT = {"group": "milk", "id": "oat", "amount": "normal", "count": 1}


def line(sku: str, quantity: int = 1, size: str | None = None, *options: dict[str, Any]) -> dict[str, Any]:
    return {"sku": sku, "quantity": quantity, "size": size, "options": list(options)}


def hearing(transcript: Transcript, *gold: dict[str, Any]) -> Hearing:
    return Hearing("a", "tuned", "clean", "voice", transcript, CAFE, list(gold))


def judged(transcript: Transcript, *gold: dict[str, Any]) -> Judged:
    return judge(hearing(transcript, *gold))


def labels(transcript: Transcript, *gold: dict[str, Any]) -> dict[str, bool | None]:
    return {label.features.name: label.right for label in judged(transcript, *gold).labels}


def test_a_cart_that_is_right_is_right_in_each_field() -> None:
    found = judged(speech("two large oat lattes"), line("latte", 2, "L", OAT))
    assert (found.exact, found.plain, found.blocked) == (True, True, False)
    assert [label.right for label in found.labels] == [True] * 5


def test_a_wrong_value_is_wrong_alone_and_makes_its_line_wrong() -> None:
    found = labels(speech("two large oat lattes"), line("latte", 2, "S", OAT))
    assert found == {"sku": True, "quantity": True, "size": False, "options/milk/oat": True, "heard": False}


def test_of_a_wrong_item_nothing_else_can_be_said() -> None:
    found = labels(speech("two large oat lattes"), line("mocha", 2))
    assert found == {"sku": False, "quantity": None, "size": None, "options/milk/oat": None, "heard": False}


def test_what_goes_to_a_human_anyway_is_blocked() -> None:
    again = speech("a large latte").model_copy(update={"first_heard": "a large ladder"})
    assert judged(again, line("latte", 1, "L")).blocked
    assert judged(speech("a large latte or a mocha"), line("mocha")).blocked


def test_agreement_is_judged_where_the_words_leave_one_cart() -> None:
    one, same, other = (speech(text) for text in ("a large latte", "the large latte", "a small latte"))
    assert compare(hearing(one, line("latte", 1, "L")), same) == (True, True)
    assert compare(hearing(one, line("latte", 1, "S")), same) == (True, False)
    assert compare(hearing(one, line("latte", 1, "L")), other) == (False, True)
    assert compare(hearing(speech("a latte or a mocha"), line("mocha")), same) is None


def test_the_shipped_table_counts_every_feature_the_right_way() -> None:
    for kinds in models().values():
        assert set(kinds) == set(KINDS)
        for model in kinds.values():
            signs = [SIGNS[name] for name in FEATURES]
            assert all(sign * weight >= 0 for sign, weight in zip(signs, model.weights, strict=True))
            assert 0 < probability(model, (0.0,) * len(FEATURES)) < 1
