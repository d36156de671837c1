"""While the stack starts and the samples are worked on, the terminal says what it waits for."""

from __future__ import annotations

import io
import time
from typing import Any

from rich.console import Console

from infra.processes.supervisor import Change
from services.cli.stack import StackView


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
