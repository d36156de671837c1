"""`python -m services.api`: serve the API until SIGTERM or SIGINT.

On a signal the server stops taking connections, answers its long polls at once, ends event streams (their
clients resume elsewhere), lets uploads finish, and is gone within `QUIET_S + GRACE_S`. Every answer from
then on says `Connection: close`.

Under our supervisor it serves on a socket that it inherits (`SAYCART_API_FD`), so that connections wait in
the kernel's queue while no API process lives; see ADR 8. Elsewhere it binds its own.
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
from infra.sql.prepare import prepare, tell_row_security
from schemas.errors import InputError, StorageUnavailable
from services.api.app import create_app
from services.bootstrap import bootstrap
from services.settings_checks import check_tasks

log = structlog.get_logger(__name__)

# Seconds from the signal to the last answer. An upload that takes longer is cut off and may be sent again.
GRACE_S = 24
# Seconds after the signal in which open connections are still served: a request that is on its way would
# meet a closed connection, which its client sees as an error and not as a restart.
QUIET_S = 1.0
# Seconds that an idle connection is kept for the next request.
KEEP_ALIVE_S = 15
# Each client that waits holds a socket. Most systems start a process with 1,024 files at most and let it ask
# for more; past the limit no connection is accepted, and those who order stand behind those who wait.
FILES = 65_536


class Server(uvicorn.Server):
    """uvicorn, which tells the app at the signal."""

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
        """uvicorn's own closes idle connections at once; here they first get a moment for a last answer."""
        self._app.state.draining = True
        self._app.state.waiting.close()
        for listener in self.servers:
            listener.close()
        loop = asyncio.get_running_loop()
        until = loop.time() + QUIET_S
        # Connections that were accepted just now become known within a turn of the loop or two.
        await asyncio.sleep(0.05)
        while self.server_state.connections and loop.time() < until:
            await asyncio.sleep(0.05)
        await super().shutdown(sockets)


def allow_files() -> None:
    """Raise this process's limit of open files to `FILES`, as far as the system lets it."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = FILES if hard == resource.RLIM_INFINITY else min(FILES, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def server(app: FastAPI, wanted: Settings) -> Server:
    """A server for `app` on the address that the settings name.

    Raises:
        ValueError: `SAYCART_PROXIES` can't be read.
    """
    proxies = networks(wanted.proxies, "SAYCART_PROXIES")
    return Server(
        uvicorn.Config(
            app,
            host=wanted.api_host,
            port=wanted.api_port,
            timeout_graceful_shutdown=GRACE_S,
            timeout_keep_alive=KEEP_ALIVE_S,
            access_log=False,  # `request.done` is that line, with the request id
            log_config=None,
            server_header=False,
            ws="none",
            proxy_headers=bool(proxies),
            forwarded_allow_ips=[str(network) for network in proxies],
        ),
        app,
    )


def main() -> None:
    """Exit status 1 when the database can't be brought up to date, no other process has done it in time, or
    no recording can be kept: our supervisor tries again."""
    wanted = settings()
    configure_logging(wanted.log_level, as_json=wanted.log_json)
    allow_files()
    try:
        container = bootstrap(wanted)
        check_tasks(wanted)
    except InputError as error:
        sys.exit(f"{error.detail}. {error.hint}")
    tracing.start(wanted, "api")
    try:
        prepare(container.database, at_start=wanted.migrate_at_start)
        tell_row_security(container.database)
        container.blobs.check()
    except (StorageUnavailable, InputError, OSError) as error:
        log.error("api.not_started", error=str(error.__cause__ or error), hint=getattr(error, "hint", None))
        sys.exit(1)
    try:
        inherited = os.environ.get("SAYCART_API_FD")
        sockets = [socket.socket(fileno=int(inherited))] if inherited else None
        server(create_app(container), wanted).run(sockets=sockets)
    except KeyboardInterrupt:
        pass  # uvicorn has shut down in order, and passes Ctrl-C on
    finally:
        container.close()
        tracing.stop()


if __name__ == "__main__":
    main()
