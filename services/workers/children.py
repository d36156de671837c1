"""The processes of a stack: their commands, their environment, and how each shows that it is ready."""

from __future__ import annotations

import os
import socket
import sys
from dataclasses import replace
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


def part(
    config: Settings, name: str, argv: tuple[str, ...], env: dict[str, str], needs: tuple[str, ...] = ()
) -> Child:
    """Return a worker, sweeper or courier."""
    return Child(
        name=name,
        argv=argv,
        log_path=config.home / "logs" / f"{name}.log",
        ready_file=config.home / "run" / f"{name}.ready",
        ready_timeout_s=MODEL_TIMEOUT_S,
        env=env,
        needs=needs,
        stop_s=DRAIN_S + _WORKER_STOP_S,
    )


def api_part(config: Settings, listener: socket.socket, needs: tuple[str, ...] = ()) -> Child:
    """Return the API on a listening socket that outlives it. Its file says that this very life serves; over
    HTTP an older one may still answer."""
    number = listener.fileno()
    env = {"SAYCART_API_FD": str(number), metrics.SHOWN: str(metrics_folder(config))}
    api = part(config, "api", (sys.executable, "-m", "services.api"), as_environment(config) | env, needs)
    return replace(api, ready_timeout_s=PART_TIMEOUT_S, stop_s=_API_STOP_S, pass_fds=(number,))


def as_environment(settings: Settings) -> dict[str, str]:
    """Return the variables from which `Settings()` reads these same settings again."""
    named = {"database_url": "DATABASE_URL", "redis_url": "REDIS_URL"}
    values = {
        named.get(field, f"SAYCART_{field.upper()}"): str(getattr(settings, field))
        for field in Settings.model_fields
    }
    # Standard output of a child is a file: unbuffered, or its last words before a crash would be lost.
    return values | {"PYTHONUNBUFFERED": "1", "PATH": os.environ.get("PATH", os.defpath)}


def metrics_folder(config: Settings) -> Path:
    """Return the folder that the parts of one machine share for their metrics."""
    return config.home / "run" / "metrics"
