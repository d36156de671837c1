"""The embedded engine as a child process: of the stack, or for as long as a block of code runs."""

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
"""To load a model on a slow disk."""
CONTEXT = 12_288
"""Tokens that it holds: prompt plus the largest cart that the mask allows."""


def served_at(config: Settings, port: int) -> Settings:
    """Settings that find the embedded engine on `port`, with a key of its own life where none was given."""
    return config.model_copy(
        update={
            "llm_url": f"http://127.0.0.1:{port}",
            "llm_api_key": config.llm_api_key or secrets.token_urlsafe(32),
        }
    )


def engine_child(config: Settings, port: int, log_path: Path, states: Path | None = None) -> Child:
    """The embedded engine on loopback `port`, for who shows the key of `config` (`served_at`); states of
    menus are kept in the folder `states`.

    Raises:
        ModelError: its weights are not here.
    """
    options: dict[str, object] = {
        "--model": resolve(config.llm_model, config.models_dir),
        "--port": port,
        "--threads": config.threads,
        "--context": CONTEXT,
    }
    if adapter := adapters.adapter_for(config.llm_model):
        options["--adapter"] = adapters.prepared(adapter, config.models_dir)
    if states is not None:
        options["--states"] = states
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
    """Settings whose `llm_url` answers to their `llm_api_key`: as they are, or with an embedded engine for as
    long as the block runs. For work in process, without queue, database or API."""
    if config.llm_url:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="saycart-") as folder:
        supervisor = Supervisor(Path(folder))
        port = any_free()
        served = served_at(config, port)
        supervisor.start([engine_child(served, port, Path(folder) / "reader.log")])
        try:
            yield served
        finally:
            supervisor.stop()


def answers(url: str) -> bool:
    """Whether `url` is answered with 200, within a second."""
    try:
        return httpx.get(url, timeout=1.0, trust_env=False).status_code == 200
    except httpx.HTTPError:
        return False
