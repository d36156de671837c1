"""The real stack as child processes that can be killed at any time and are restarted.

Redis, API, workers, sweepers, courier and webhook receiver, each in its own session. The product's supervisor
is not used: each restart would begin with two seconds of imports (see `fork_server.py`).
"""

from __future__ import annotations

import json
import os
import select
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import redis

from infra.processes.ports import any_free
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from services.storage.orders.store import OrderStore
from services.storage.shops.menus import MenuStore
from services.workers.children import as_environment
from tests.credentials import UNLIMITED, header_for
from tests.endpoints import till
from tests.stand_ins import CAFE, TESTER
from tests.waiting import answers

SECRET = "whsec_" + "c2F5Y2FydC1mYXVsdHMtaGFybmVzcy1rZXk="
QUEUES = "transcribe,decode,validate"
READY_S = 90.0
_POLL_S = 0.05


@dataclass
class Part:
    """A process across restarts. `module` has a `main`; without a module, `argv` is a program."""

    name: str
    module: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    ready: Callable[[], bool] = lambda: True
    pid: int = 0
    pidfd: int = -1

    @property
    def alive(self) -> bool:
        """Return True if the process runs: its pidfd becomes readable when it ends, and is never reused."""
        return self.pidfd >= 0 and not select.select([self.pidfd], [], [], 0)[0]

    def children(self) -> list[int]:
        """Return its child processes: a worker's pool."""
        try:
            return [int(p) for p in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        except OSError:
            return []


@dataclass(frozen=True)
class StackOptions:
    """Options of a stack. `home` holds database and recordings, `folder` everything else."""

    folder: Path
    home: Path
    database_url: str = ""
    redis_argv: tuple[str, ...] = ()
    redis_url: str = ""
    workers: int = 3
    strikes: bool = False
    lease_s: float = 6.0
    settings: dict[str, Any] = field(default_factory=dict)


class RunningStack:
    """A running stack: `with RunningStack(StackOptions(...)) as stack`."""

    def __init__(self, options: StackOptions) -> None:
        self.options = options
        self.folder, self.home = options.folder, options.home
        for folder in (self.folder, self.home, self.folder / "logs", self.folder / "struck"):
            folder.mkdir(parents=True, exist_ok=True)
        self.inbox = self.folder / "inbox.jsonl"
        self.runs = self.folder / "runs"
        self.runs.touch()
        self._embedded = EmbeddedRedis(self.folder / "redis", any_free(), self.folder / "logs" / "redis.log")
        self.redis_url = options.redis_url or self._embedded.url
        # Held here, as by the product's supervisor: connections wait while the API is down.
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._receiver = any_free()
        self.settings = Settings(
            **{
                **UNLIMITED,
                "home": self.home,
                "database_url": options.database_url,
                "redis_url": self.redis_url,
                "api_port": port,
                "llm_url": "http://127.0.0.1:9",  # unused: the decoder is a stand-in
                "stage_lease_s": options.lease_s,
                "sweep_s": 2.0,
                "webhook_endpoints": "private",
                "webhook_wait_cap_s": 5.0,
                "webhook_attempts": 1000,
                **options.settings,
            }
        )
        self.database = Database(self.settings.database).everywhere()
        self.orders = OrderStore(self.database, "main")
        self.parts = {part.name: part for part in self._parts()}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._restarter = threading.Thread(target=self._restart_dead, name="restarter")
        self._fork_server: subprocess.Popen[str] | None = None

    def __enter__(self) -> RunningStack:
        self.database.migrate()
        MenuStore(self.database, "main").put(CAFE, by=TESTER)
        till(self.database, f"http://127.0.0.1:{self._receiver}/", secret=SECRET)
        self.headers = header_for(self.database)
        try:
            self._start_fork_server()
            self._restarter.start()
            self.until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def named(self, kind: str) -> list[Part]:
        """Return all parts of a kind, such as `worker` or `sweeper`."""
        return [part for name, part in self.parts.items() if name.rstrip("0123456789") == kind]

    def until_ready(self) -> None:
        """Wait until every part is up. Raises RuntimeError after `READY_S`."""
        until = time.monotonic() + READY_S
        while waiting := [p.name for p in self.parts.values() if not (p.alive and p.ready())]:
            if time.monotonic() > until:
                raise RuntimeError(f"not ready: {waiting}; see {self.folder / 'logs'}")
            time.sleep(0.1)

    def kill(self, part: Part, how: str) -> bool:
        """kill -9 `main` (the process), `group` (with its pool) or `child` (one of its pool); return False if
        there was nothing to kill."""
        with self._lock:
            if not part.alive:
                return False
            pool = part.children()
            if how == "child" and not pool:
                return False
            if how == "group":
                os.killpg(part.pid, signal.SIGKILL)
            else:
                os.kill(pool[0] if how == "child" else part.pid, signal.SIGKILL)
            return True

    def redis(self) -> redis.Redis:
        """A client of this stack's Redis that may flush it."""
        url = self.options.redis_url or self._embedded.operator_url
        return redis.Redis.from_url(url, socket_timeout=2.0)

    def stop(self) -> None:
        """Stop everything; the fork server's children die with it."""
        self._stopping.set()
        if self._restarter.ident is not None:
            self._restarter.join()
        for part in self.parts.values():
            _end_group(part)
        if self._fork_server is not None:
            assert self._fork_server.stdin is not None
            self._fork_server.stdin.close()
            self._fork_server.wait(10)
        self._socket.close()
        self.database.close()

    def _parts(self) -> list[Part]:
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=INFO"]
        pool = ["--pool=prefork", "--concurrency=2"]
        app = ["celery", "-A", "tests.faults.worker", "worker", "-Q", QUEUES]
        workers = [
            self._with_ready_file(
                f"worker{n}", "celery.__main__", [*app, "-n", f"worker{n}@%h", *pool, *quiet]
            )
            for n in range(1, self.options.workers + 1)
        ]
        sweepers = [
            self._with_ready_file(f"sweeper{n}", "services.workers.sweeper", ["sweeper"]) for n in (1, 2)
        ]
        inbox = ["receiver", "--port", str(self._receiver), "--secret", SECRET, "--out", str(self.inbox)]
        redis_argv = list(self.options.redis_argv or self._embedded.child().argv)
        fd = {"SAYCART_API_FD": str(self._socket.fileno())}
        return [
            Part("redis", "", redis_argv, ready=self._redis_answers),
            Part("receiver", "tests.servers.receiver", inbox),
            *workers,
            *sweepers,
            self._with_ready_file("courier1", "services.workers.courier", ["courier"]),
            Part("api", "tests.faults.api", ["api"], env=fd, ready=partial(answers, f"{self.url}/livez")),
        ]

    def _with_ready_file(self, name: str, module: str, argv: list[str]) -> Part:
        file = self.folder / f"{name}.ready"
        return Part(name, module, argv, env={"SAYCART_READY_FILE": str(file)}, ready=file.exists)

    def _redis_answers(self) -> bool:
        try:
            with self.redis() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _start_fork_server(self) -> None:
        env = as_environment(self.settings) | {
            "FAULTS_RUNS": str(self.runs),
            **({"FAULTS_STRUCK": str(self.folder / "struck")} if self.options.strikes else {}),
        }
        self._fork_server = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.fork_server"],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "logs" / "fork-server.log").open("w"),
            text=True,
            pass_fds=[self._socket.fileno()],
        )
        if self._response() != "ready":
            raise RuntimeError(f"the fork server did not start: see {self.folder / 'logs'}")

    def _response(self) -> str:
        assert self._fork_server is not None
        assert self._fork_server.stdout is not None
        return self._fork_server.stdout.readline().strip()

    def _restart_dead(self) -> None:
        while not self._stopping.wait(_POLL_S):
            for part in self.parts.values():
                if not part.alive:
                    with self._lock:
                        self._spawn(part)

    def _spawn(self, part: Part) -> None:
        _end_group(part)
        if part.pidfd >= 0:
            os.close(part.pidfd)
            part.pidfd = -1
        (self.folder / f"{part.name}.ready").unlink(missing_ok=True)
        assert self._fork_server is not None
        assert self._fork_server.stdin is not None
        log = str(self.folder / "logs" / f"{part.name}.log")
        request = {"module": part.module, "argv": part.argv, "env": part.env, "log": log}
        self._fork_server.stdin.write(json.dumps(request) + "\n")
        self._fork_server.stdin.flush()
        part.pid = int(self._response())
        try:
            part.pidfd = os.pidfd_open(part.pid)
        except ProcessLookupError:
            part.pidfd = -1  # already ended; the next round restarts it


def _end_group(part: Part) -> None:
    """Kill what a killed parent left behind, as the product's supervisor does before a restart."""
    if part.pid:
        with suppress(ProcessLookupError):
            os.killpg(part.pid, signal.SIGKILL)
