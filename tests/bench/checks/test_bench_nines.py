"""The orders of `make bench-nines`, and what counts as a failure there."""

from __future__ import annotations

from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

from infra.observability.json_lines import kept_lines
from schemas.cart import CartDraft
from schemas.compare import canonical_draft
from schemas.errors import DecodeInvalid, DecodeTruncated
from schemas.evidence import Evidence
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.engines.masks.labels import Labels
from services.engines.ports import Reading
from services.engines.reader.reading import Sheet
from services.reading.order import read_order
from tests.bench.masks import nines_read
from tests.bench.masks.nines import VALID, Order, asked, judged, left, orders, run, summary
from tests.servers.staged_server import completion, staged_server
from tests.stand_ins import CAFE, RIGHT, SAID

ORDER = Order("o1", CAFE, SAID)
EVIDENCE, LABELS = read_order(SAID, CAFE, 1), Labels(CAFE)
WIRE = LABELS.to_wire(RIGHT)


def test_orders_are_different_of_many_menus_and_the_same_each_time() -> None:
    found = orders(300)
    assert len({(order.menu.id, order.said) for order in found}) == 300
    assert len({order.menu.id for order in found}) > 5
    assert [order.said for order in orders(300)] == [order.said for order in found]


def test_an_answer_is_held_against_a_second_account() -> None:
    assert judged(WIRE, EVIDENCE, LABELS) == VALID
    assert judged(WIRE.replace('"quantity":1', '"quantity":9'), EVIDENCE, LABELS) == "outside the reference"


@pytest.mark.parametrize(
    ("text", "reason", "verdict"),
    [(WIRE, "stop", VALID), (WIRE[:-3], "length", "decode_truncated"), ("no", "stop", "decode_invalid")],
)
def test_failures_are_kept_and_counted(tmp_path: Path, text: str, reason: str, verdict: str) -> None:
    file = tmp_path / "rows.jsonl"
    with staged_server(lambda _: completion(text, reason)) as server:
        completions = Completions(Calls(server.url, timeout_s=5), "llama.cpp", "m")
        assert asked(ORDER, completions)["verdict"] == verdict
        run([ORDER], lambda order: asked(order, completions), file, 1, minutes=1)
        run([ORDER], lambda order: asked(order, completions), file, 1, minutes=0)  # no time: nothing is asked
    assert len(server.bodies) == 2
    file.write_text(file.read_text() + '{"cut": "of')
    (row,) = kept_lines(file)
    counted = summary([row])
    assert counted["verdicts"] == {verdict: 1}
    assert counted["failures"] == (verdict != VALID)


class Reader:
    """Answers with the lines that it was made with, or raises."""

    def __init__(self, answer: Reading | Exception) -> None:
        self.answer, self.expected = answer, list[CartDraft | None]()

    def read(self, evidence: Evidence, called_off: Event | None, expected: CartDraft | None) -> Reading:
        self.expected.append(expected)
        if isinstance(self.answer, Exception):
            raise self.answer
        return self.answer


def reading(lines: list[dict[str, Any]], overruled: int = 0) -> Reading:
    return Reading(tuple(lines), "text", -0.1, overruled, "test", 9, 4, 9, 0.1)


READ = [line.model_dump(mode="json", exclude={"heard"}) for line in RIGHT.lines]


@pytest.mark.parametrize(
    ("answer", "verdict"),
    [
        (reading(READ), VALID),
        (reading(READ, overruled=2), VALID),
        (reading([READ[0] | {"sku": "bicycle"}]), "not on this menu"),
        (reading([READ[0] | {"quantity": 0}]), "no cart"),
        (DecodeInvalid("outside the mask"), "decode_invalid"),
        (DecodeTruncated("cut off"), "decode_truncated"),
    ],
)
def test_what_the_trained_reader_answers_is_judged_too(answer: Reading | Exception, verdict: str) -> None:
    reader = Reader(answer)
    row = nines_read.asked(ORDER, reader)  # type: ignore[arg-type]
    assert row["verdict"] == verdict
    assert canonical_draft(reader.expected[0]) == canonical_draft(RIGHT), "asked as the product asks"
    told = nines_read.told([row])
    assert told["failures"] == (verdict != VALID)
    assert told["mask_chose_against_the_model"] == (row.get("overruled") == 2)


@pytest.mark.parametrize(
    ("text", "ended", "verdict"),
    [
        ("", "stop", VALID),
        (None, "length", "truncated"),
        ("1 Bicycle", "stop", "outside the mask"),
    ],
)
def test_what_vllm_answers_under_the_mask_is_judged_too(text: str | None, ended: str, verdict: str) -> None:
    sheet = Sheet(ORDER.menu)
    asked: list[dict[str, Any]] = []
    right = sheet.names.write([line.model_dump(mode="json") for line in RIGHT.lines])

    def post(_path: str, body: dict[str, Any]) -> dict[str, Any]:
        asked.append(body)
        choice = {"message": {"content": right if text == "" else text}, "finish_reason": ended}
        return {"choices": [choice], "usage": {"completion_tokens": 7}}

    calls: Any = SimpleNamespace(post=post)
    row = nines_read.asked_of_vllm(ORDER, calls, "orders-adapter", sheet)
    assert row["verdict"] == verdict
    assert asked[0]["structured_outputs"] == {"grammar": sheet.mask.lark}, "from the first token on"
    assert asked[0]["model"] == "orders-adapter"
    assert nines_read.told([row])["mask_chose_against_the_model"] is None


def test_a_run_goes_on_with_the_orders_that_have_no_answer(tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    first, *others = left(40, file)
    run([first], lambda order: nines_read.asked(order, Reader(reading([]))), file, 1, minutes=1)  # type: ignore[arg-type]
    assert [row["id"] for row in kept_lines(file)] == [first.id]
    assert left(40, file) == others
    assert left(40, file, skip=30) == others[-10:]
