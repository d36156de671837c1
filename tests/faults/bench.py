"""The environment of a scenario: database, length, seed, and a temporary folder."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import replace
from itertools import count
from pathlib import Path
from typing import Any

from tests.faults.judge import judge, until_quiet
from tests.faults.ledger import Ledger
from tests.faults.running_stack import RunningStack, StackOptions
from tests.servers.postgresql import PostgreSQL

SQLITE, POSTGRESQL = "sqlite", "postgresql"
QUIET_S = 180.0
_NUMBERS = count(1)


class Bench:
    """`with Bench("sqlite", long=False, seed=5) as bench`, then run any scenario on it."""

    def __init__(self, database: str, *, long: bool, seed: int, server: PostgreSQL | None = None) -> None:
        self.database, self.long, self.seed = database, long, seed
        self.folder = Path(tempfile.mkdtemp(prefix="saycart-faults-"))
        self.server = server
        self._own_server = server is None and database == POSTGRESQL
        self._keep = False

    def __enter__(self) -> Bench:
        if self._own_server:
            self.server = PostgreSQL()
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        if self._own_server and self.server is not None:
            self.server.stop()
        if self._keep or kind is not None:
            print(f"logs and databases: {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def size(self, long: int, short: int) -> int:
        """Return the number for this run's length."""
        return long if self.long else short

    def stack(self, **options: Any) -> RunningStack:
        """A stack with an empty database of this bench's kind."""
        folder = self.folder / f"stack{next(_NUMBERS)}"
        defaults = StackOptions(folder, folder / "home", database_url=self.url())
        return RunningStack(replace(defaults, **options))

    def url(self) -> str:
        """URL of an empty database; empty for the default, SQLite in the stack's home."""
        if self.database == SQLITE:
            return ""
        assert self.server is not None
        return self.server.create(f"faults_{time.time_ns()}")

    def verdict(self, stack: RunningStack, ledger: Ledger, since: float | None = None) -> dict[str, Any]:
        """Wait until all queues are empty, then judge. `since` is the time of the last fault (monotonic)."""
        figures = {**settle(stack, since), **judge(stack, ledger)}
        self._keep = self._keep or bool(figures["trouble"])
        return figures


def settle(stack: RunningStack, since: float | None = None) -> dict[str, Any]:
    """Seconds from the last fault, or from now, until no order was waiting, and until no message was."""
    passed = time.monotonic() - since if since is not None else 0.0
    orders, messages = until_quiet(stack, QUIET_S)
    return {
        "drained s": None if orders is None else round(passed + orders, 1),
        "messages drained s": None if messages is None else round(passed + messages, 1),
    }
