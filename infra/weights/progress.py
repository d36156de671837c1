"""Shows the bytes of a fetch as they arrive."""

from __future__ import annotations

import time
from types import TracebackType
from typing import Self

from rich.console import Console
from rich.filesize import decimal
from rich.progress import (
    BarColumn,
    DownloadColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
    TransferSpeedColumn,
)
from rich.table import Column

PLAIN_LINE_S = 10.0


class Meter:
    """Bytes over all pieces: a bar on a terminal, elsewhere a line a piece and one every 10 s."""

    def __init__(self, console: Console, total: int) -> None:
        self._console = console
        self._total = total
        self._settled = 0
        self._spoke = time.monotonic()
        self._bar = Progress(
            # Cut short rather than wrapped: all of it has to fit a line of 80.
            TextColumn("{task.description}", table_column=Column(max_width=26, no_wrap=True)),
            BarColumn(bar_width=14),
            DownloadColumn(),
            TransferSpeedColumn(),
            TimeRemainingColumn(),
            console=console,
            disable=not console.is_terminal,
            transient=True,
        )
        self._task = self._bar.add_task("", total=total)

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def say(self, text: str) -> None:
        """A line of its own, above the bar if there is one."""
        self._spoke = time.monotonic()
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)

    def show(self, label: str, arrived: int) -> None:
        """`arrived`: bytes of the piece under way."""
        done = self._settled + arrived
        self._bar.update(self._task, description=label, completed=done)
        if self._bar.disable and time.monotonic() - self._spoke > PLAIN_LINE_S:
            self.say(f"{label}: {decimal(done)} of {decimal(self._total)}")

    def settle(self, label: str, size: int) -> None:
        """`size` bytes more are here, checked, and need no further showing."""
        self._settled += size
        self._bar.update(self._task, description=label, completed=self._settled)
        if self._bar.disable:
            self.say(f"{label}: {decimal(self._settled)} of {decimal(self._total)}")
