"""Measure the memory of the embedded stack by process, after the sample orders and one masked call:

    python -m tests.bench.memory

Proportional set size: shared memory is divided among its processes, so the sum is the stack's. The supervisor
is this process.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Literal

import psutil
from pydantic import BaseModel

from schemas.menu import Menu
from services.bootstrap import Container
from services.cli.samples import load_menus
from services.clients.masked.saycart_masked import masked
from services.workers.stack import Stack
from tests.processes.running_stack import RECORDINGS, connected, follower, gold_rows, settings_in

MB = 1e6
ASKED = [{"role": "user", "content": "Sort this ticket: the checkout is down and nobody can pay."}]


class Ticket(BaseModel):
    priority: Literal["low", "medium", "high"]
    needs_human: bool


def main() -> int:
    """Print a line per process, and the sum."""
    menus = [Menu.read(document)[0] for document in load_menus().values()]
    with (
        tempfile.TemporaryDirectory(prefix="memory-") as home,
        Stack(settings_in(Path(home)), menus=menus) as stack,
    ):
        _use(stack)
        sizes = {part: sum(map(_pss, _family(stack.supervisor.pid(part)))) for part in stack.parts}
    sizes["supervisor"] = _pss(psutil.Process(os.getpid()))
    for part, size in sorted(sizes.items(), key=lambda one: -one[1]):
        print(f"{part:12} {size / MB:6.0f} MB")
    print(f"{'all':12} {sum(sizes.values()) / MB:6.0f} MB")
    return 0


def _use(stack: Stack) -> None:
    with connected(stack) as client:
        for row in gold_rows():
            with (RECORDINGS / row["audio"]).open("rb") as audio:
                sent = client.post("/v1/orders", files={"audio": audio}, data={"menu": row["menu"]})
            follower(client)(sent.raise_for_status().json()["id"])
    print(masked(Ticket, ASKED, engine=Container(stack.settings).decoder).value, flush=True)


def _family(pid: int | None) -> Iterator[psutil.Process]:
    """A part's process and its descendants."""
    if pid is not None:
        process = psutil.Process(pid)
        yield from (process, *process.children(recursive=True))


def _pss(process: psutil.Process) -> int:
    with suppress(psutil.NoSuchProcess):
        return int(process.memory_full_info().pss)
    return 0


if __name__ == "__main__":
    sys.exit(main())
