"""The real stack, as child processes that may be killed at any time and come back by themselves.

Redis, API, workers, sweepers, courier and webhook receiver, each a session of its own, kept alive by one
thread. The product's supervisor does that in production; it is not used here because every life would begin
with two seconds of imports (see `nursery.py`).
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
from pathlib import Path
from typing import Any

import httpx
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

SECRET = "whsec_" + "c2F5Y2FydC1mYXVsdHMtaGFybmVzcy1rZXk="
QUEUES = "transcribe,decode,validate"
READY_S = 90.0
_POLL_S = 0.05


@dataclass
class Part:
    """One process over all of its lives. `module` has a `main`; without one `argv` is a program."""

    name: str
    module: str
    argv: list[str]
    env: dict[str, str] = field(default_factory=dict)
    ready: Callable[[], bool] = lambda: True
    pid: int = 0
    pidfd: int = -1

    @property
    def alive(self) -> bool:
        """A pidfd can be read once its process has ended, and is never another process's."""
        return self.pidfd >= 0 and not select.select([self.pidfd], [], [], 0)[0]

    def children(self) -> list[int]:
        """Its own child processes: the pool of a worker."""
        try:
            return [int(p) for p in Path(f"/proc/{self.pid}/task/{self.pid}/children").read_text().split()]
        except OSError:
            return []


@dataclass(frozen=True)
class Wanted:
    """How a stack is to be. `home` holds database and recordings, `folder` everything else."""

    folder: Path
    home: Path
    database_url: str = ""
    redis_argv: tuple[str, ...] = ()
    redis_url: str = ""
    workers: int = 3
    strikes: bool = False
    lease_s: float = 6.0
    settings: dict[str, Any] = field(default_factory=dict)


class Works:
    """A running stack: `with Works(Wanted(...)) as works`. `works.named("api")` are those to kill."""

    def __init__(self, wanted: Wanted) -> None:
        self.wanted = wanted
        self.folder, self.home = wanted.folder, wanted.home
        for folder in (self.folder, self.home, self.folder / "logs", self.folder / "struck"):
            folder.mkdir(parents=True, exist_ok=True)
        self.inbox = self.folder / "inbox.jsonl"
        self.runs = self.folder / "runs"
        self.runs.touch()
        self._embedded = EmbeddedRedis(self.folder / "redis", any_free(), self.folder / "logs" / "redis.log")
        self.redis_url = wanted.redis_url or self._embedded.url
        # Held here, as the product's supervisor does: connections wait while no API lives.
        self._socket = socket.create_server(("127.0.0.1", 0), backlog=512)
        port = self._socket.getsockname()[1]
        self.url = f"http://127.0.0.1:{port}"
        self._receiver = any_free()
        self.settings = Settings(
            **{
                **UNLIMITED,
                "home": self.home,
                "database_url": wanted.database_url,
                "redis_url": self.redis_url,
                "api_port": port,
                "llm_url": "http://127.0.0.1:9",  # never asked: the decoder is a stand-in
                "stage_lease_s": wanted.lease_s,
                "sweep_s": 2.0,
                "webhook_endpoints": "private",
                "webhook_wait_cap_s": 5.0,
                "webhook_attempts": 1000,
                **wanted.settings,
            }
        )
        self.database = Database(self.settings.database).everywhere()
        self.orders = OrderStore(self.database, "main")
        self.parts = {part.name: part for part in self._parts()}
        self._lock = threading.Lock()
        self._stopping = threading.Event()
        self._keeper = threading.Thread(target=self._keep, name="keeper")
        self._nursery: subprocess.Popen[str] | None = None

    def __enter__(self) -> Works:
        self.database.migrate()
        MenuStore(self.database, "main").put(CAFE, by=TESTER)
        till(self.database, f"http://127.0.0.1:{self._receiver}/", secret=SECRET)
        self.headers = header_for(self.database)
        try:
            self._start_nursery()
            self._keeper.start()
            self.until_ready()
        except BaseException:
            self.stop()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def named(self, kind: str) -> list[Part]:
        """Every part of a kind: `worker`, `sweeper` and so on."""
        return [part for name, part in self.parts.items() if name.rstrip("0123456789") == kind]

    def until_ready(self) -> None:
        """Wait until every part is up.

        Raises:
            RuntimeError: one is not, in time.
        """
        until = time.monotonic() + READY_S
        while waiting := [p.name for p in self.parts.values() if not (p.alive and p.ready())]:
            if time.monotonic() > until:
                raise RuntimeError(f"not ready: {waiting}; see {self.folder / 'logs'}")
            time.sleep(0.1)

    def kill(self, part: Part, how: str) -> bool:
        """kill -9: `main` (the process), `group` (with its pool) or `child` (one of its pool); whether there
        was anything to kill."""
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
        """A client of this stack's Redis, which may empty it."""
        url = self.wanted.redis_url or self._embedded.operator_url
        return redis.Redis.from_url(url, socket_timeout=2.0)

    def stop(self) -> None:
        """End everything; the nursery's children die with it."""
        self._stopping.set()
        if self._keeper.ident is not None:
            self._keeper.join()
        for part in self.parts.values():
            _end_group(part)
        if self._nursery is not None:
            assert self._nursery.stdin is not None
            self._nursery.stdin.close()
            self._nursery.wait(10)
        self._socket.close()
        self.database.close()

    def _parts(self) -> list[Part]:
        quiet = ["--without-gossip", "--without-mingle", "--without-heartbeat", "--loglevel=INFO"]
        pool = ["--pool=prefork", "--concurrency=2"]
        app = ["celery", "-A", "tests.faults.worker", "worker", "-Q", QUEUES]
        workers = [
            self._readied(f"worker{n}", "celery.__main__", [*app, "-n", f"worker{n}@%h", *pool, *quiet])
            for n in range(1, self.wanted.workers + 1)
        ]
        sweepers = [self._readied(f"sweeper{n}", "services.workers.sweeper", ["sweeper"]) for n in (1, 2)]
        inbox = ["receiver", "--port", str(self._receiver), "--secret", SECRET, "--out", str(self.inbox)]
        redis_argv = list(self.wanted.redis_argv or self._embedded.child().argv)
        fd = {"SAYCART_API_FD": str(self._socket.fileno())}
        return [
            Part("redis", "", redis_argv, ready=self._redis_answers),
            Part("receiver", "tests.servers.receiver", inbox),
            *workers,
            *sweepers,
            self._readied("courier1", "services.workers.courier", ["courier"]),
            Part("api", "tests.faults.api", ["api"], env=fd, ready=self._api_answers),
        ]

    def _readied(self, name: str, module: str, argv: list[str]) -> Part:
        file = self.folder / f"{name}.ready"
        return Part(name, module, argv, env={"SAYCART_READY_FILE": str(file)}, ready=file.exists)

    def _redis_answers(self) -> bool:
        try:
            with self.redis() as client:
                return bool(client.ping())
        except redis.RedisError:
            return False

    def _api_answers(self) -> bool:
        try:
            return httpx.get(f"{self.url}/livez", timeout=1.0, trust_env=False).status_code == 200
        except httpx.HTTPError:
            return False

    def _start_nursery(self) -> None:
        env = as_environment(self.settings) | {
            "FAULTS_RUNS": str(self.runs),
            **({"FAULTS_STRUCK": str(self.folder / "struck")} if self.wanted.strikes else {}),
        }
        self._nursery = subprocess.Popen(
            [sys.executable, "-m", "tests.faults.nursery"],
            env={**os.environ, **env},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=(self.folder / "logs" / "nursery.log").open("w"),
            text=True,
            pass_fds=[self._socket.fileno()],
        )
        if self._said() != "ready":
            raise RuntimeError(f"the nursery did not start: see {self.folder / 'logs'}")

    def _said(self) -> str:
        assert self._nursery is not None
        assert self._nursery.stdout is not None
        return self._nursery.stdout.readline().strip()

    def _keep(self) -> None:
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
        assert self._nursery is not None
        assert self._nursery.stdin is not None
        log = str(self.folder / "logs" / f"{part.name}.log")
        wanted = {"module": part.module, "argv": part.argv, "env": part.env, "log": log}
        self._nursery.stdin.write(json.dumps(wanted) + "\n")
        self._nursery.stdin.flush()
        part.pid = int(self._said())
        try:
            part.pidfd = os.pidfd_open(part.pid)
        except ProcessLookupError:
            part.pidfd = -1  # it has ended already; the next round starts it again


def _end_group(part: Part) -> None:
    """What a killed parent left behind, as the product's supervisor ends it before the next life."""
    if part.pid:
        with suppress(ProcessLookupError):
            os.killpg(part.pid, signal.SIGKILL)
