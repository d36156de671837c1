"""The processes of a stack: commands, environment and readiness."""

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

PART_TIMEOUT_S = 90.0
# On top of `DRAIN_S`, in which a worker ends or releases its stages.
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
    """Return the API, on a listening socket that outlives it. It is ready when its file exists: over HTTP, an
    earlier process might still answer."""
    number = listener.fileno()
    env = {"SAYCART_API_FD": str(number), metrics.SHOWN_DIR: str(metrics_folder(config))}
    api = part(config, "api", (sys.executable, "-m", "services.api"), as_environment(config) | env, needs)
    return replace(api, ready_timeout_s=PART_TIMEOUT_S, stop_s=_API_STOP_S, pass_fds=(number,))


def as_environment(settings: Settings) -> dict[str, str]:
    """Return the environment variables of these settings."""
    named = {"database_url": "DATABASE_URL", "redis_url": "REDIS_URL"}
    values = {
        named.get(field, f"SAYCART_{field.upper()}"): str(getattr(settings, field))
        for field in Settings.model_fields
    }
    # Unbuffered, so that the last lines before a crash reach the log file.
    return values | {"PYTHONUNBUFFERED": "1", "PATH": os.environ.get("PATH", os.defpath)}


def metrics_folder(config: Settings) -> Path:
    """Return the folder that the processes of one machine share for their metrics."""
    return config.home / "run" / "metrics"
