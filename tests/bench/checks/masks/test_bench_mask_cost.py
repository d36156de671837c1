"""What the bench of a mask's cost counts, how it goes on, and what each way asks of llama.cpp's server."""

from __future__ import annotations

import itertools
import json
import time
from pathlib import Path
from typing import Any

import pytest

from tests.bench.ablation.prompts import TUNED
from tests.bench.chat import Answer
from tests.bench.masks import cost
from tests.bench.orders import Order, sample

ORDERS = sample(8, TUNED[:1])


def answered(text: str, tokens: int, seconds: float = 2.0, finish: str = "stop") -> Answer:
    times = {"prompt_ms": 500.0, "predicted_ms": 50.0 * tokens}
    return Answer(text, finish, 1300, 0, tokens, seconds, times)


class Server:
    """Gives every way the empty cart; what it was asked is kept."""

    def __init__(self) -> None:
        self.asked: list[dict[str, Any]] = []

    def ask(self, _chat: Any, **body: Any) -> Answer:
        self.asked.append(body)
        return answered('{"lines":[]}', 10)


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Server:
    one = Server()
    monkeypatch.setattr(cost, "Chat", lambda *_, **__: one)
    monkeypatch.setattr(cost, "favoured", lambda *_: {"logit_bias": []})
    return one


def test_what_is_beside_is_neither_reading_nor_writing() -> None:
    found = cost.row("free", "one", answered("x", 20))
    assert (found["prompt_ms"], found["written_ms"], found["beside_ms"]) == (500.0, 1000.0, 500.0)


def test_figures_are_the_middle_of_each_way() -> None:
    rows = [
        {**cost.row("free", str(n), answered("```json", tokens)), "failure": failure, "exact": False}
        for n, (tokens, failure) in enumerate([(10, None), (20, "truncated"), (90, None)])
    ]
    rows.append(
        {
            **cost.row("gbnf, schema", "0", answered("{}", 0, 0.5, "refused")),
            "failure": "refused",
            "exact": True,
        }
    )
    found = cost.told(rows)
    assert found["free"]["tokens_p50"] == 20
    assert found["free"]["ms_a_token_p50"] == 50.0
    assert (found["free"]["failures"], found["free"]["fenced"]) == ({"truncated": 1}, 3)
    # An answer without a token has no time a token, and is counted all the same.
    assert (found["gbnf, schema"]["orders"], found["gbnf, schema"]["ms_a_token_p50"]) == (1, 0.0)
    assert (found["free"]["exact"], found["gbnf, schema"]["exact"]) == (0, 1)


def test_every_way_gets_each_order_once_and_no_two_the_same_at_a_time(server: Server, tmp_path: Path) -> None:
    rows, whole = cost.run("http://x", "", ORDERS, tmp_path / "rows.jsonl", time.monotonic() + 60)
    carts = [row for row in rows if not row["way"].startswith("5000")]
    assert whole
    ways, ids = list(cost.ways("", "")), {order.id for order in ORDERS}
    assert {way: {row["id"] for row in carts if row["way"] == way} for way in ways} == dict.fromkeys(
        ways, ids
    )
    assert len(server.asked) == len(rows) == len(ORDERS) * len(ways) + 4 * cost.PICKS
    # Neighbours of one step are of other orders, so that none finds its prompt in the server's cache.
    assert all(one["id"] != other["id"] for one, other in itertools.pairwise(carts))


def test_a_run_that_was_stopped_goes_on(server: Server, tmp_path: Path) -> None:
    file = tmp_path / "rows.jsonl"
    _, whole = cost.run("http://x", "", ORDERS[:1], file, time.monotonic() - 1)
    assert not whole
    assert not server.asked
    first, _ = cost.run("http://x", "", ORDERS[:1], file, time.monotonic() + 60)
    asked = len(server.asked)
    again, whole = cost.run("http://x", "", ORDERS, file, time.monotonic() + 60)
    assert whole
    assert len(server.asked) - asked == len(again) - len(first) > 0
    assert [json.loads(line) for line in file.read_text().splitlines()] == again


def test_each_way_of_a_schema_holds_the_server_to_it_in_its_own_field() -> None:
    order: Order = ORDERS[0]
    asked = {name: made(order) for name, made in cost.ways("", "").items() if name != "logit_bias"}
    assert asked["free"] == {}
    assert asked["llguidance, schema"]["grammar"].startswith("%llguidance")
    assert not asked["gbnf, schema"]["grammar"].startswith("%llguidance")
    assert asked["gbnf, schema, lazy"] == asked["gbnf, schema"] | cost.LAZY
    assert set(asked["json_schema field"]) == {"json_schema"}
    assert asked["tools"]["tool_choice"] == "required"
