"""A stack without real engines, and the processor time of each of its processes."""

from __future__ import annotations

import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.redis.server import EmbeddedRedis
from infra.settings import Settings
from infra.sql.database import Database
from schemas.menu import Menu
from schemas.shops.access import Scope
from services.cli.samples import load_menus
from services.storage.people.api_keys import KeyStore
from services.storage.shops.menus import MenuStore
from services.storage.shops.store import ShopStore
from services.workers.children import as_environment
from services.workers.worker import WORKERS, celery_argv
from tests.credentials import UNLIMITED
from tests.processes.parts import part
from tests.stand_ins import TESTER

# Concurrent orders at the engines. They only sleep, so threads cost little.
IN_FLIGHT = 128
PYTHON = (sys.executable, "-m")


@dataclass(frozen=True, slots=True)
class Running:
    """A stack at `url` with a key for each shop; `pids` by part, `redis` is its operator's URL."""

    url: str
    keys: list[str]
    database: Database
    pids: dict[str, int]
    redis: str

    def used(self) -> dict[str, float]:
        """Return the seconds of processor time of each part so far, with its children."""
        return {name: _used(pid) for name, pid in self.pids.items()}


@contextmanager
def running(
    home: Path,
    database_url: str,
    *,
    shops: int,
    env: dict[str, str],
    threads: int = IN_FLIGHT,
    by: tuple[str, ...] = PYTHON,
) -> Iterator[Running]:
    """Run Redis, one API, a worker for each stage and the sweeper, with `shops` that have the sample menus.
    `env` sets how long the engines take (`engines.py`); `by` runs the modules of API and workers."""
    listener = socket.create_server(("127.0.0.1", 0), backlog=2048)
    redis = EmbeddedRedis(home / "redis", any_free(), home / "redis.log")
    config = Settings(
        home=home,
        database_url=database_url,
        redis_url=redis.url,
        llm_url="http://127.0.0.1:9",  # the worker's own engines stand in for it
        log_level="WARNING",
        max_backlog=0,
        shop_backlog=0,
        client_backlog=0,
        **UNLIMITED,
    )
    database, supervisor = Database(config.database).everywhere(), Supervisor(home / "stack")
    try:
        database.migrate()
        keys = _shops(database, shops)
        children = _children(home, listener, as_environment(config) | env, threads, by)
        supervisor.start([redis.child("redis"), *children])
        names = ["redis", *WORKERS, "sweeper", "api"]
        pids = {name: pid for name in names if (pid := supervisor.pid(name)) is not None}
        url = f"http://127.0.0.1:{listener.getsockname()[1]}"
        yield Running(url, keys, database, pids, redis.operator_url)
    finally:
        supervisor.stop()
        database.close()
        listener.close()


def _shops(database: Database, shops: int) -> list[str]:
    menus = [Menu.parse(document) for document in load_menus().values()]
    stores, keys = ShopStore(database), []
    for number in range(shops):
        name = f"shop-{number}"
        stores.add(name, name, by=TESTER)
        for menu in menus:
            MenuStore(database, name).put(menu, by=TESTER)
        scopes = (Scope.ORDERS_READ, Scope.ORDERS_WRITE)
        keys.append(KeyStore(database).add(name, "till", scopes, by=TESTER)[1])
    return keys


def _children(
    home: Path, listener: socket.socket, env: dict[str, str], threads: int, by: tuple[str, ...]
) -> list[Child]:
    workers = []
    for name, queues in WORKERS.items():
        argv = celery_argv(name, queues, threads, "WARNING")[len(PYTHON) :]
        own = ("tests.load.engines" if word == "services.workers.app" else word for word in argv)
        workers.append(part(name, (*by, *own), home, env))
    number = listener.fileno()
    api = part("api", (*by, "services.api"), home, env, (number,), SAYCART_API_FD=str(number))
    return [*workers, part("sweeper", (*PYTHON, "services.workers.sweeper"), home, env), api]


def _used(pid: int) -> float:
    """Return the processor time of a process and its descendants, including exited ones."""
    whole, seconds = psutil.Process(pid), 0.0
    for process in (whole, *whole.children(recursive=True)):
        with suppress(psutil.NoSuchProcess):
            seconds += sum(process.cpu_times()[:4])
    return seconds
