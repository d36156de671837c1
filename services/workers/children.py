"""The processes of a stack: their commands, their environment, and how each shows that it is ready."""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Callable
from pathlib import Path

from infra.observability import metrics
from infra.processes.supervisor import Child
from infra.settings import Settings
from services.decoding.hosts.embedded import MODEL_TIMEOUT_S
from services.workers.drain import DRAIN_S

# Seconds. Loading may read a model from a cold disk.
PART_TIMEOUT_S = 90.0
# A worker ends its stage or gives it back before it goes; this comes on top of `DRAIN_S`.
_WORKER_STOP_S = 5.0
_API_STOP_S = 27.0  # the API's own grace is 1 + 24


def worker_child(
    config: Settings, name: str, argv: tuple[str, ...], environment: dict[str, str], needs: tuple[str, ...]
) -> Child:
    """Return a worker, sweeper or courier. It touches a file when it can take work."""
    file = _ready_file(config, name)
    return Child(
        name=name,
        argv=argv,
        log_path=log_path(config, name),
        ready=file.exists,
        ready_timeout_s=MODEL_TIMEOUT_S,
        env={**environment, "SAYCART_READY_FILE": str(file)},
        needs=needs,
        stop_s=DRAIN_S + _WORKER_STOP_S,
        prepare=lambda: file.unlink(missing_ok=True),
    )


def api_child(
    config: Settings,
    listener: socket.socket,
    answers: Callable[[], bool] = lambda: True,
    *,
    ready_timeout_s: float = PART_TIMEOUT_S,
    needs: tuple[str, ...] = (),
) -> Child:
    """Return the API on a listening socket that outlives it. It is ready when it serves and `answers` agrees.

    The file says that this very life serves; over HTTP an older one may still answer.
    """
    file = _ready_file(config, "api")
    number = listener.fileno()
    return Child(
        name="api",
        argv=(sys.executable, "-m", "services.api"),
        log_path=log_path(config, "api"),
        ready=lambda: file.exists() and answers(),
        ready_timeout_s=ready_timeout_s,
        env={
            **as_environment(config),
            "SAYCART_READY_FILE": str(file),
            "SAYCART_API_FD": str(number),
            metrics.SHOWN: str(metrics_folder(config)),
        },
        needs=needs,
        stop_s=_API_STOP_S,
        prepare=lambda: file.unlink(missing_ok=True),
        pass_fds=(number,),
    )


def as_environment(settings: Settings) -> dict[str, str]:
    """Return the variables from which `Settings()` reads these same settings again."""
    named = {"database_url": "DATABASE_URL", "redis_url": "REDIS_URL"}
    values = {
        named.get(field, f"SAYCART_{field.upper()}"): str(getattr(settings, field))
        for field in Settings.model_fields
    }
    # Standard output of a child is a file: unbuffered, or its last words before a crash would be lost.
    return values | {"PYTHONUNBUFFERED": "1", "PATH": os.environ.get("PATH", os.defpath)}


def log_path(config: Settings, part: str) -> Path:
    """Return the file of a part's standard output and error, over all of its lives."""
    return config.home / "logs" / f"{part}.log"


def metrics_folder(config: Settings) -> Path:
    """Return the folder that the parts of one machine share for their metrics."""
    return config.home / "run" / "metrics"


def _ready_file(config: Settings, name: str) -> Path:
    return config.home / "run" / f"{name}.ready"
