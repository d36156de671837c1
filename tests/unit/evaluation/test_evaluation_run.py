"""A fault at one gold row is that row's error, and its order a review."""

from __future__ import annotations

from typing import Any

from schemas.decision import Policy
from services.decoding.ports import CartDecoder
from services.learning.evaluation.figures import errors, figures, judge
from services.learning.evaluation.run import predict
from services.pipeline.ports import Tools
from tests.stand_ins import CAFE


class Faulty:
    """A decoder with a fault that nobody foresaw."""

    def decode(self, *_: Any, **_how: Any) -> Any:
        raise ValueError("seventeen options")


def faulty() -> CartDecoder:
    return Faulty()  # type: ignore[return-value]


def test_a_fault_at_one_row_is_its_error_and_a_review() -> None:
    tools = Tools(
        transcriber=None,  # type: ignore[arg-type]
        decoder=faulty,
        menu=None,  # type: ignore[arg-type]
        recording=None,  # type: ignore[arg-type]
        decode_audio=None,  # type: ignore[arg-type]
        second_transcriber=lambda: None,
        agreement=lambda *_: None,
        policy=Policy.within(asr_threshold=0.5, max_total=100_00),
    )
    gold = {"id": "a", "utterance": "a latte", "cart": {"lines": [{"sku": "latte", "quantity": 1}]}}
    predicted = predict(gold, CAFE, tools, None)
    assert predicted["error"] == "ValueError: seventeen options"
    assert (predicted["decision"], predicted["reasons"]) == ("review", ["stage_failed"])
    row = judge(gold, predicted)
    assert errors([row], ()) == [{"id": "a", "error": "ValueError: seventeen options"}]
    found = figures([row], [{"id": "line 2", "error": "bad"}])
    assert (found["rows"], found["reviews"], found["errors"], found["broken_rows"]) == (1, 1, 2, 1)
