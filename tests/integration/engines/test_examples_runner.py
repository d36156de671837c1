"""Gold rows asked of a server: what is asked, what counts as which failure, what a second run asks again."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Literal

import pytest
from pydantic import BaseModel, Field, model_validator

from services.engines.decoding.calls import Calls
from services.engines.decoding.completion import Completions
from services.examples.asking import CUT_OFF, NO_FORM, NO_MEANING, Masked, Method, Prompted, plain
from services.examples.example import Example
from services.examples.runner import figures, paired, run, unpack
from services.masked.output import OutputType
from services.masked.task import Task
from tests.servers.staged_server import StagedServer, completion, staged_server


class Ticket(BaseModel):
    """Two fields, and a rule between them that no mask holds."""

    priority: Literal["low", "high"]
    minutes: int = Field(ge=1, le=99)

    @model_validator(mode="after")
    def _high_is_quick(self) -> Ticket:
        if self.priority == "high" and self.minutes > 30:
            raise ValueError("what is high is answered within 30 minutes")
        return self


RIGHT = '{"priority":"low","minutes":60}'
TASK = Task("ticket", "a ticket", OutputType.of(Ticket), "Answer with priority and minutes, as JSON.")


@pytest.fixture
def server() -> Iterator[StagedServer]:
    with staged_server(lambda _: completion(RIGHT)) as staged:
        yield staged


def example(folder: Path, task: Task[Ticket] = TASK, rows: int = 2) -> Example[Ticket]:
    gold = folder / "gold.jsonl"
    lines = [{"id": f"t{n}", "text": f"ticket {n}", "gold": ["low", "high"][n % 2]} for n in range(rows)]
    gold.write_text("".join(json.dumps(line) + "\n" for line in lines))
    return Example("ticket", (task,), gold, lambda value, row: {"right": value.priority == row.gold})


def methods(server: StagedServer) -> tuple[Method, Method]:
    calls = Calls(server.url, timeout_s=5)
    return Masked(Completions(calls, "llama.cpp", "m")), Prompted(calls, "m")


def test_both_methods_ask_the_same_messages_and_one_has_a_mask(server: StagedServer, tmp_path: Path) -> None:
    found = run(example(tmp_path), methods(server), tmp_path / "out")
    masked, prompted = server.bodies[:2]
    assert masked["messages"] == prompted["messages"]
    assert masked["grammar"] == TASK.output.mask.lark
    assert not {"grammar", "response_format"} & prompted.keys()
    for cell in found["cells"].values():
        assert (cell["rows"], cell["form_failures"], cell["marks"]["right"]["hits"]) == (2, 0, 1)
    assert found["paired"]["ticket"] == {"rows": 2, "only_first": 0, "only_second": 0, "p": 1.0}


def test_a_second_run_asks_what_is_missing_and_what_has_changed(server: StagedServer, tmp_path: Path) -> None:
    out = tmp_path / "out"
    first = run(example(tmp_path), methods(server), out)
    assert len(server.bodies) == 4
    assert run(example(tmp_path), methods(server), out) == first
    assert len(server.bodies) == 4
    file = out / "ticket" / "ticket.masked.jsonl"
    file.write_text(file.read_text()[:-20])  # killed while it wrote its last line
    assert run(example(tmp_path), methods(server), out)["paired"] == first["paired"]
    assert len(server.bodies) == 5
    other = Task("ticket", "a ticket", TASK.output, "Another prompt.")
    run(example(tmp_path, other), methods(server), out)
    assert len(server.bodies) == 9


def test_a_run_goes_on_from_answers_that_were_kept(server: StagedServer, tmp_path: Path) -> None:
    out, kept, again = (tmp_path / name for name in ("out", "kept", "again"))
    first = run(example(tmp_path), methods(server), out)
    for file in out.rglob("*.jsonl"):
        packed = kept / file.relative_to(out).with_suffix(".jsonl.gz")
        packed.parent.mkdir(parents=True, exist_ok=True)
        packed.write_bytes(gzip.compress(file.read_bytes()))
    assert (unpack(kept, again), unpack(kept, again)) == (2, 0)
    assert run(example(tmp_path), methods(server), again) == first
    assert len(server.bodies) == 4, "nothing is asked twice"


@pytest.mark.parametrize(
    ("text", "reason", "masked", "prompted"),
    [
        ("I would say low.", "stop", NO_FORM, NO_FORM),
        ('{"priority":"urgent","minutes":5}', "stop", NO_FORM, NO_FORM),
        ('{"priority":"high","minutes":60}', "stop", NO_MEANING, NO_FORM),
        (RIGHT[:-1], "length", CUT_OFF, CUT_OFF),
        (f"Sure!\n```json\n{RIGHT}\n```", "stop", NO_FORM, ""),
        ('{"priority": "low", "minutes": "60"}', "stop", NO_FORM, ""),
    ],
)
def test_failures_have_their_kinds(
    server: StagedServer, tmp_path: Path, text: str, reason: str, masked: str, prompted: str
) -> None:
    server.answer = lambda _: completion(text, reason)
    one = example(tmp_path)
    found = [method.ask(one, TASK, one.rows()[0]) for method in methods(server)]
    assert [asked.failure for asked in found] == [masked, prompted]
    for asked in found:
        assert bool(asked.why) == bool(asked.failure)
        assert asked.marks == ({} if asked.failure else {"right": True})


def test_what_is_kept_of_a_text() -> None:
    assert plain("Here: {1} and {2}.", is_json=True) == "{1} and {2}"
    assert plain("```sql\nSELECT 1\n```\nDone.", is_json=False) == "SELECT 1"
    assert plain("  SELECT 1\n", is_json=False) == "SELECT 1"


def answered(
    identity: str, *, right: bool = False, failure: str = "", seconds: float = 1.0
) -> dict[str, Any]:
    marks = {} if failure else {"right": right}
    return {
        "id": identity, "failure": failure, "marks": marks, "completion_tokens": 10, "seconds": seconds,
    }  # fmt: skip


def test_figures_count_a_failure_as_not_right() -> None:
    rows = [
        answered("a", right=True),
        answered("b"),
        answered("c", failure=NO_FORM),
        answered("d", failure=NO_MEANING),
    ]
    found = figures(rows, ["right"])
    assert (found["form_failures"], found["meaning_failures"]) == (1, 1)
    assert found["marks"]["right"]["hits"] == 1
    assert found["marks"]["right"]["ci"][0] < 0.25 < found["marks"]["right"]["ci"][1]


def test_a_pair_is_two_answers_to_one_row() -> None:
    one = [answered("a", right=True), answered("b", right=True), answered("c")]
    other = [answered("b", right=True), answered("a", failure=CUT_OFF)]
    assert paired(one, other) == {"rows": 2, "only_first": 1, "only_second": 0, "p": 1.0}


def test_two_rows_are_all_that_is_read_where_two_are_wanted(tmp_path: Path) -> None:
    assert [row.id for row in example(tmp_path, rows=5).rows(2)] == ["t0", "t1"]
