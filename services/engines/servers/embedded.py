"""The embedded decode server as a child process: of the stack, or for as long as a block of code runs."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import httpx

from infra.processes.ports import any_free
from infra.processes.supervisor import Child, Supervisor
from infra.settings import Settings
from infra.weights.models import resolve
from services.engines.reader import adapters
from services.engines.servers import llama_server

MODEL_TIMEOUT_S = 600.0
"""To load a model on a slow disk."""


def served_at(config: Settings, port: int) -> Settings:
    """Settings that find the embedded server on `port`, with a key of its own life where none was given."""
    return config.model_copy(
        update={
            "llm_url": f"http://127.0.0.1:{port}",
            "llm_dialect": "llama.cpp",
            "llm_api_key": config.llm_api_key or secrets.token_urlsafe(32),
        }
    )


def llm_child(config: Settings, port: int, log_path: Path) -> Child:
    """The embedded llama.cpp server on loopback `port`, for who shows the key of `config` (`served_at`).

    Raises:
        ModelError: its weights are not here.
    """
    reader = adapters.made_for(config.llm_model) if config.reader != "off" else None
    return Child(
        name="llm",
        argv=llama_server.command(
            Path(resolve(config.llm_model, config.models_dir)),
            port,
            name=Path(config.llm_model).name,
            threads=config.llm_threads,
            slots=config.llm_slots,
            context=config.llm_context,
            adapter=adapters.prepared(reader, config.models_dir) if reader else None,
        ),
        log_path=log_path,
        ready=lambda: answers(f"http://127.0.0.1:{port}/health"),
        ready_timeout_s=MODEL_TIMEOUT_S,
        env={llama_server.KEY_ENV: config.llm_api_key},
    )


@contextmanager
def decode_server(config: Settings) -> Iterator[Settings]:
    """Settings whose `llm_url` answers to their `llm_api_key`: as they are, or with an embedded server for as
    long as the block runs. For work in process, without queue, database or API."""
    if config.llm_url:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="saycart-") as folder:
        supervisor = Supervisor(Path(folder))
        port = any_free()
        served = served_at(config, port)
        supervisor.start([llm_child(served, port, Path(folder) / "llm.log")])
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
