"""The orders of `make bench-nines`, and what counts as a failure there."""

from __future__ import annotations

from pathlib import Path

import pytest

from infra.observability.json_lines import kept_lines
from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.engines.masks.labels import Labels
from services.reading.order import read_order
from tests.bench.nines import VALID, Order, asked, judged, orders, run, summary
from tests.staged_server import completion, staged_server
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
        run([ORDER], completions, file, 1, minutes=1)
        run([ORDER], completions, file, 1, minutes=0)  # no time is left, so nothing is asked
    assert len(server.bodies) == 2
    file.write_text(file.read_text() + '{"cut": "of')
    (row,) = kept_lines(file)
    counted = summary([row])
    assert counted["verdicts"] == {verdict: 1}
    assert counted["failures"] == (verdict != VALID)
