"""`python -m services.api`: serve the API until SIGTERM or SIGINT.

On a signal the server stops accepting connections, answers long polls at once, ends event streams (clients
reconnect elsewhere), lets uploads finish, and exits within `QUIET_S + GRACE_S`. From then on every response
says `Connection: close`.

Under our supervisor it serves on an inherited socket (`SAYCART_API_FD`), so that connections wait in the
kernel's queue while no API process is running; see ADR 8. Otherwise it binds its own.
"""

from __future__ import annotations

import asyncio
import os
import resource
import socket
import sys
from pathlib import Path
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from infra.addresses import networks
from infra.observability import tracing
from infra.observability.telemetry import configure_logging
from infra.settings import Settings, settings
from infra.sql.prepare import prepare, warn_of_row_security
from schemas.errors import InputError, StorageUnavailable
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.settings_checks import check_tasks

log = structlog.get_logger(__name__)

# Seconds from the signal to the last response. A longer upload is cut off; the client can retry.
GRACE_S = 24
# Seconds after the signal during which open connections are still served, for requests already on their way.
QUIET_S = 1.0
# Seconds that an idle connection stays open.
KEEP_ALIVE_S = 15
# Each long poll holds a socket, and past the usual soft limit of 1,024 no connection is accepted.
FILES = 65_536


class Server(uvicorn.Server):
    """uvicorn server that tells the app when it shuts down."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.draining = True
        super().handle_exit(sig, frame)

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        if ready_file := os.environ.get("SAYCART_READY_FILE"):
            Path(ready_file).touch()

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        """Serve open connections for up to `QUIET_S`, then shut down; uvicorn closes idle ones at once."""
        self._app.state.draining = True
        self._app.state.waiting.close()
        for listener in self.servers:
            listener.close()
        loop = asyncio.get_running_loop()
        until = loop.time() + QUIET_S
        # The loop registers new connections within an iteration or two.
        await asyncio.sleep(0.05)
        while self.server_state.connections and loop.time() < until:
            await asyncio.sleep(0.05)
        await super().shutdown(sockets)


def allow_files() -> None:
    """Raise this process's limit of open files to `FILES`, or as far as the system allows."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    limit = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < limit:
        resource.setrlimit(resource.RLIMIT_NOFILE, (limit, hard))


def server(app: FastAPI, config: Settings) -> Server:
    """Return a server for `app` on the configured address.

    Raises:
        ValueError: `SAYCART_PROXIES` is invalid.
    """
    proxies = networks(config.proxies, "SAYCART_PROXIES")
    return Server(
        uvicorn.Config(
            app,
            host=config.api_host,
            port=config.api_port,
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=KEEP_ALIVE_S,
            access_log=False,  # the middleware logs `request.done`
            log_config=None,
            server_header=False,
            ws="none",
            proxy_headers=bool(proxies),
            forwarded_allow_ips=[str(network) for network in proxies],
        ),
        app,
    )


def main() -> None:
    """Exit with status 1, so that the supervisor retries, if the database isn't migrated or recordings can't
    be stored."""
    config = settings()
    configure_logging(config.log_level, as_json=config.log_json)
    allow_files()
    try:
        container = bootstrap(config)
        check_tasks(config)
    except InputError as error:
        sys.exit(f"{error.detail}. {error.hint}")
    tracing.start(config, "api")
    try:
        prepare(container.database, at_start=config.migrate_at_start)
        warn_of_row_security(container.database)
        container.blobs.check()
    except (StorageUnavailable, InputError, OSError) as error:
        log.error("api.not_started", error=str(error.__cause__ or error), hint=getattr(error, "hint", None))
        sys.exit(1)
    try:
        inherited = os.environ.get("SAYCART_API_FD")
        sockets = [socket.socket(fileno=int(inherited))] if inherited else None
        server(create_app(container), config).run(sockets=sockets)
    except KeyboardInterrupt:
        pass  # uvicorn re-raises Ctrl-C after a clean shutdown
    finally:
        container.close()
        tracing.stop()


if __name__ == "__main__":
    main()
