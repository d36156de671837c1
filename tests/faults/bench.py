"""Where a scenario runs: which database, long or short, a seed, and a folder that is removed afterwards."""

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
from tests.faults.works import Wanted, Works
from tests.servers.postgresql import PostgreSQL

SQLITE, POSTGRESQL = "sqlite", "postgresql"
QUIET_S = 180.0
_NUMBERS = count(1)


class Bench:
    """`with Bench("sqlite", long=False, seed=5) as bench`, then any scenario on it."""

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
            print(f"logs and databases are kept in {self.folder}", flush=True)
        else:
            shutil.rmtree(self.folder, ignore_errors=True)

    def size(self, long: int, short: int) -> int:
        """How many of something, by the form of the run."""
        return long if self.long else short

    def works(self, **wanted: Any) -> Works:
        """A stack on an empty database of this bench's kind."""
        folder = self.folder / f"works{next(_NUMBERS)}"
        defaults = Wanted(folder, folder / "home", database_url=self.url())
        return Works(replace(defaults, **wanted))

    def url(self) -> str:
        """Of an empty database; empty for the default one, SQLite in the stack's home."""
        if self.database == SQLITE:
            return ""
        assert self.server is not None
        return self.server.create(f"faults_{time.time_ns()}")

    def verdict(self, works: Works, ledger: Ledger, since: float | None = None) -> dict[str, Any]:
        """Wait until nothing waits any more, then judge. `since`: when the last fault was (monotonic)."""
        found = {**settle(works, since), **judge(works, ledger)}
        self._keep = self._keep or bool(found["trouble"])
        return found


def settle(works: Works, since: float | None = None) -> dict[str, Any]:
    """Seconds from the last fault, or from now, until no order waited, and until no message did."""
    passed = time.monotonic() - since if since is not None else 0.0
    orders, messages = until_quiet(works, QUIET_S)
    return {
        "drained s": None if orders is None else round(passed + orders, 1),
        "messages drained s": None if messages is None else round(passed + messages, 1),
    }
