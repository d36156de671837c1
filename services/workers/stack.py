"""The whole stack on one machine: its processes, and what each depends on.

    with Stack(settings) as stack:
        httpx.get(f"{stack.base_url}/readyz")

Starts Redis and the language model, too, unless the settings have their URLs. The children read all settings
from their environment.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from tempfile import NamedTemporaryFile

import httpx

from infra.observability import metrics, tracing
from infra.processes.ports import any_free, listen
from infra.processes.supervisor import Child, ChildFailed, Supervisor, SupervisorError
from infra.redis.server import EmbeddedRedis
from infra.secret import KEY_FILE, read_key
from infra.settings import Settings
from infra.sql.database import Database
from infra.sql.prepare import prepare
from schemas.lifecycle import StageName
from schemas.menu import Menu
from schemas.shops.access import ALL_SCOPES, MAIN_SHOP, Scope
from schemas.shops.audit import Actor
from services.decoding.hosts.embedded import MODEL_TIMEOUT_S, engine_child, served_at
from services.decoding.hosts.variables import QUIET_OPENMP
from services.settings_checks import check_addresses, check_tasks
from services.storage.people.api_keys import KeyStore
from services.storage.shops.menus import MenuStore
from services.workers.children import PART_TIMEOUT_S, api_part, as_environment, metrics_folder, part
from services.workers.worker import WORKERS, worker_argv

_SELF = Actor("system:stack")


class Stack:
    """All processes of saycart, started by `__enter__` or `start`, stopped by `__exit__` or `stop`."""

    def __init__(
        self,
        settings: Settings,
        on_change: Callable[[str, str], None] = lambda *_: None,
        menus: Iterable[Menu] = (),
    ) -> None:
        """`menus`: imported into the main shop before any process starts, so that they are warmed."""
        self._menus = tuple(menus)
        self.settings = settings.model_copy(update={"home": settings.home.resolve()})
        self.supervisor = Supervisor(self.settings.home, on_change, about=self.base_url)
        self._unready: dict[str, str] = {}
        self._listener: socket.socket | None = None
        self.parts: list[str] = []
        """Names of the started children."""
        self.key = ""
        """The main shop's API key for programs on this machine, once started; also in `home/key`."""

    @property
    def base_url(self) -> str:
        """The API's URL on this machine."""
        host = self.settings.api_host
        host = {"0.0.0.0": "127.0.0.1", "::": "[::1]"}.get(host, host)  # noqa: S104  # compared, not bound
        return f"http://{host}:{self.settings.api_port}"

    def start(self) -> None:
        """Start all processes; returns when orders can be served.

        Raises:
            SupervisorError: the home or the API's port is in use, or a process doesn't start.
            InputError: masked tasks that can't be loaded, or tables of another release.
            ModelError: the weights of the embedded language model are missing.
            StorageUnavailable: the database can't be migrated.
        """
        config = self.settings
        check_addresses(config)
        tracing.check(config)
        check_tasks(config)
        os.umask(0o077)
        self.supervisor.claim()
        try:
            metrics.recreate(metrics_folder(config))
            self._listener = _api_listener(config)
            self._prepare_database()
            children = self._children(self._listener)
            self.parts = [child.name for child in children]
        except BaseException:
            self.stop()
            raise
        try:
            self.supervisor.start(children)
        except ChildFailed as error:
            if self._unready:
                error.hint = f"/readyz says: {self._unready}. {error.hint}"
            raise

    def stop(self) -> None:
        """Stop all processes; may be repeated."""
        # First, so that new connections are refused while the workers stop.
        if self._listener is not None:
            self._listener.close()
        self.supervisor.stop()

    def __enter__(self) -> Stack:
        self.start()
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _prepare_database(self) -> None:
        """Migrate the database, and add the main shop's first key and the given menus."""
        config, database = self.settings, Database(self.settings.database)
        try:
            prepare(database, at_start=config.migrate_at_start, await_s=0)
            self.key = _first_key(config.home, KeyStore(database))
            for menu in self._menus:
                MenuStore(database, MAIN_SHOP).put(menu, by=_SELF)
        finally:
            database.close()

    def _children(self, listener: socket.socket) -> list[Child]:
        config, children = self.settings, list[Child]()
        if not config.redis_url:
            server = EmbeddedRedis(config.home / "redis", any_free(), config.home / "logs" / "redis.log")
            children.append(server.child("redis"))
            config = config.model_copy(update={"redis_url": server.url})
        if not config.llm_url:
            port = any_free()
            config = served_at(config, port)
            log = config.home / "logs" / "reader.log"
            children.append(engine_child(config, port, log, config.home / "reader"))
        # The API serves the metrics of all processes from a shared folder; they can't share one port.
        self.settings = config = config.model_copy(update={"metrics_port": 0})
        environment = (
            as_environment(config) | QUIET_OPENMP | {metrics.MULTIPROC_DIR: str(metrics_folder(config))}
        )
        queue = tuple(child.name for child in children if child.name == "redis")
        model = tuple(child.name for child in children if child.name == "reader")
        for name in WORKERS:
            needs = queue + model if name == StageName.DECODE else queue
            worker = part(config, name, worker_argv(name, config), environment, needs)
            # Recordings must not slow down orders that are being decoded.
            children.append(replace(worker, nice=15 if name == StageName.TRANSCRIBE else 0))
        for name in ("sweeper", "courier") if config.webhook_endpoints != "off" else ("sweeper",):
            argv = (sys.executable, "-m", f"services.workers.{name}")
            children.append(part(config, name, argv, environment, queue))
        # The API starts with the language model, but is ready only once that answers.
        patience_s = MODEL_TIMEOUT_S if model else PART_TIMEOUT_S
        api = api_part(config, listener, queue)
        return [*children, replace(api, ready=self._api_ready, ready_timeout_s=patience_s)]

    def _api_ready(self) -> bool:
        try:
            answer = httpx.get(f"{self.base_url}/readyz", timeout=2.0, trust_env=False)
            checks = answer.json().get("checks", {})
        except (httpx.HTTPError, ValueError):
            return False
        self._unready = {part: problem for part, problem in checks.items() if problem != "ok"}
        return bool(checks) and not self._unready


def _api_listener(config: Settings) -> socket.socket:
    try:
        return listen(config.api_port, config.api_host)
    except OSError as error:
        raise SupervisorError(
            f"The API can't serve on port {config.api_port} of {config.api_host}: {error.strerror}.",
            "Stop what listens there, or choose another with SAYCART_API_PORT or SAYCART_API_HOST.",
        ) from error


def _first_key(home: Path, keys: KeyStore) -> str:
    """Return the home's own key, which is created if missing or expired. It has no access to reviews."""
    token = read_key(home)
    if not token or keys.access(token) is None:
        _, token = keys.add(MAIN_SHOP, "this machine", ALL_SCOPES - {Scope.REVIEWS}, by=_SELF)
        with NamedTemporaryFile("w", dir=home, delete=False) as file:
            file.write(f"{token}\n")
        Path(file.name).replace(home / KEY_FILE)
    return token
