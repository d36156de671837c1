"""The embedded engine as a child process, of the stack or for a block of code."""

from __future__ import annotations

import secrets
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.settings import Settings
from infra.weights import adapters
from infra.weights.models import resolve
from services.decoding.hosts.variables import KEY_ENV

MODEL_TIMEOUT_S = 600.0
"""For loading a model from a slow disk."""
CONTEXT = 12_288
"""Tokens of the longest prompt and the largest cart that the mask allows."""


def served_at(config: Settings, port: int) -> Settings:
    """Return settings for the embedded engine on `port`, with a new key unless one is configured."""
    return config.model_copy(
        update={
            "llm_url": f"http://127.0.0.1:{port}",
            "llm_api_key": config.llm_api_key or secrets.token_urlsafe(32),
        }
    )


def engine_child(config: Settings, port: int, log_path: Path, states: Path) -> Child:
    """Return the embedded engine on loopback `port`, with the API key of `config` (see `served_at`). It saves
    the states of menus in the folder `states`.

    Raises:
        ModelError: the weights are missing.
    """
    options: dict[str, object] = {
        "--model": resolve(config.llm_model, config.models_dir),
        "--port": port,
        "--threads": config.threads,
        "--context": CONTEXT,
        "--states": states,
    }
    if adapter := adapters.adapter_for(config.llm_model):
        options["--adapter"] = adapters.prepared(adapter, config.models_dir)
    flat = (str(part) for pair in options.items() for part in pair)
    return Child(
        name="reader",
        argv=(sys.executable, "-m", "services.decoding.server", *flat),
        log_path=log_path,
        ready=lambda: answers(f"http://127.0.0.1:{port}/health"),
        ready_timeout_s=MODEL_TIMEOUT_S,
        env={KEY_ENV: config.llm_api_key},
    )


@contextmanager
def decode_server(config: Settings) -> Iterator[Settings]:
    """Yield settings with the address of a decode server: the configured one, or an embedded engine that runs
    for the block. For work without queue, database or API."""
    if config.llm_url:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="saycart-") as folder:
        supervisor = Supervisor(Path(folder))
        port = any_free()
        served = served_at(config, port)
        log_path, states = Path(folder) / "reader.log", Path(folder) / "states"
        supervisor.start([engine_child(served, port, log_path, states)])
        try:
            yield served
        finally:
            supervisor.stop()


def answers(url: str) -> bool:
    """Return True if `url` answers 200 within a second."""
    try:
        return httpx.get(url, timeout=1.0, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
