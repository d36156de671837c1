"""Debian's PgBouncer in front of the tests' PostgreSQL, in `transaction` mode with few sessions: whatever a
transaction leaves in one, the next of somebody else would meet."""

from __future__ import annotations

import os
import shutil
import subprocess
import tempfile
import time
from pathlib import Path

import psycopg

from infra.processes.ports import any_free
from tests.servers.postgresql import ROLE, PostgreSQL, end_with_parent

PROGRAM = shutil.which("pgbouncer")
SESSIONS = 2
READY_S = 10


class PgBouncer:
    """One in front of every database of `server`; `options` are further lines of its file.

    Raises:
        RuntimeError: it did not start.
    """

    def __init__(self, server: PostgreSQL, *options: str) -> None:
        assert PROGRAM
        self.port = any_free()
        self._folder = Path(tempfile.mkdtemp(prefix="saycart-bouncer-"))
        users, file, log = (self._folder / name for name in ("users", "ini", "log"))
        users.write_text(f'"postgres" ""\n"{ROLE}" ""\n')
        lines = [
            "[databases]",
            f"* = host={server.home}",
            "[pgbouncer]",
            "pool_mode = transaction",
            f"default_pool_size = {SESSIONS}",
            "listen_addr = 127.0.0.1",
            f"listen_port = {self.port}",
            "unix_socket_dir =",
            "auth_type = trust",
            f"auth_file = {users}",
            *options,
        ]
        file.write_text("\n".join(lines) + "\n")
        # It refuses root, and PostgreSQL's socket is nobody's then.
        other = ["-u", "nobody"] if os.geteuid() == 0 else []
        if other:
            for path in (self._folder, users, file):
                os.chown(path, 65534, 65534)
        with log.open("wb") as output:
            self._process = subprocess.Popen(
                [PROGRAM, *other, str(file)], stdout=output, stderr=output, preexec_fn=end_with_parent
            )
        end = time.monotonic() + READY_S
        while True:
            try:
                psycopg.connect(self.url("postgres").replace("+psycopg", "")).close()
                return
            except psycopg.OperationalError:
                if self._process.poll() is not None or time.monotonic() > end:
                    self.stop()
                    raise RuntimeError(f"PgBouncer did not start: {log.read_text()}") from None
                time.sleep(0.02)

    def url(self, name: str) -> str:
        return f"postgresql+psycopg://{ROLE}@127.0.0.1:{self.port}/{name}"

    def stop(self) -> None:
        self._process.kill()
        self._process.wait()
        shutil.rmtree(self._folder, ignore_errors=True)
