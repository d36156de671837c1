"""`python -m services.api`: serve the API until SIGTERM or SIGINT.

On a signal the server stops taking connections, answers its long polls at once, ends event streams (their
clients resume elsewhere), lets uploads finish, and is gone within `GRACE_S`.
"""

from __future__ import annotations

import sys
from types import FrameType

import structlog
import uvicorn
from fastapi import FastAPI

from infra.database import DatabaseUnavailable
from infra.settings import Settings, settings
from infra.telemetry import configure_logging
from services.api.app import create_app
from services.bootstrap import bootstrap

log = structlog.get_logger(__name__)

# Seconds from the signal to the last answer. An upload that takes longer is cut off and may be sent again.
GRACE_S = 25
# Seconds that an idle connection is kept for the next request.
KEEP_ALIVE_S = 15


class Server(uvicorn.Server):
    """uvicorn, which tells the app at the signal and not only when the last connection has gone."""

    def __init__(self, config: uvicorn.Config, app: FastAPI) -> None:
        super().__init__(config)
        self._app = app

    def handle_exit(self, sig: int, frame: FrameType | None) -> None:
        self._app.state.draining = True
        super().handle_exit(sig, frame)


def server(app: FastAPI, wanted: Settings) -> Server:
    """A server for `app` on the address that the settings name."""
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
        ),
        app,
    )


def main() -> None:
    """Exit status 1 when the database can't be brought up to date: whoever supervises us tries again."""
    wanted = settings()
    configure_logging(wanted.log_level, as_json=wanted.log_json)
    container = bootstrap(wanted)
    try:
        container.database.migrate()
    except DatabaseUnavailable as error:
        log.error("api.not_started", error=str(error))
        sys.exit(1)
    try:
        server(create_app(container), wanted).run()
    except KeyboardInterrupt:
        pass  # uvicorn has shut down in order, and passes Ctrl-C on
    finally:
        container.close()


if __name__ == "__main__":
    main()
