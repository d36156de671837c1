"""While the stack starts and the samples are worked on, the terminal says what it waits for."""

from __future__ import annotations

import io
import time
from typing import Any

from rich.console import Console

from infra.processes.supervisor import Change
from schemas.order import Order
from services.cli.samples import Sample
from services.cli.stack import StackView
from services.cli.waiting import for_orders, said_every


def sample(name: str, stage: str | None, since: float, status: str = "processing") -> Sample:
    now = "2026-01-01T00:00:00Z"
    order = Order.model_validate(
        {"id": name, "status": status, "stage": stage, "version": 1, "menu": {"id": "m", "version": 1},
         "source": "audio", "created_at": now, "updated_at": now}
    )  # fmt: skip
    return Sample({"id": name}, order, sent_at=since, stage_since=since)


def test_it_says_which_recordings_are_still_to_be_heard_and_decoded() -> None:
    samples = [
        sample("hc-01", "decode", 90.0),
        sample("hc-02", "decode", 95.0),
        sample("hc-03", "transcribe", 98.0),
        sample("hc-04", "transcribe", 97.5),
        sample("hc-05", None, 80.0, "completed"),
        Sample({"id": "hc-06"}),
    ]
    assert for_orders(samples, 100.0) == "to hear: hc-04 (2 s) and 1 more, to decode: hc-01 (10 s) and 1 more"
    assert for_orders(samples[4:], 100.0) == "sending hc-06"
    assert for_orders(samples[4:5], 100.0) == ""


class Script(io.StringIO):
    """A file that is no terminal, as of a service or a pipe."""


def written(console: Console) -> str:
    file: Any = console.file
    return str(file.getvalue())


def test_a_start_without_a_terminal_names_the_parts_that_it_waits_for() -> None:
    console = Console(file=Script(), width=120, highlight=False)
    view = StackView(console, ["redis", "reader"], every_s=0.05)
    view.on_change(Change("redis", "starting"))
    with view.live():
        view.on_change(Change("redis", "ready", 0.2))
        view.on_change(Change("reader", "starting"))
        until = time.monotonic() + 10
        while "waiting for language model" not in written(console) and time.monotonic() < until:
            time.sleep(0.01)
    told = written(console)
    assert "waiting for language model (0 s)" in told
    assert "waiting for queue" not in told.partition("language model: starting")[2]
    view.on_change(Change("reader", "ready", 3.0))
    before = written(console)
    with view.live():
        time.sleep(0.3)
    assert written(console) == before, "nothing is waited for any more"


def test_a_terminal_shows_the_same_under_the_parts() -> None:
    console = Console(file=Script(), width=120, force_terminal=True)
    view = StackView(console, ["redis", "reader"])
    view.on_change(Change("reader", "starting"))
    screen = Console(width=120, record=True, file=io.StringIO())
    screen.print(view._table())
    assert "waiting for language model" in screen.export_text()


def test_what_is_said_ends_with_its_block_and_is_not_said_twice_in_a_row() -> None:
    said: list[str] = []
    with said_every(0.01, lambda: "hearing hc-01", lambda line, **_: said.append(line)):
        time.sleep(0.3)
    assert said == ["hearing hc-01"]
