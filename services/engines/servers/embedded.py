"""The embedded decode server as a child process: of the stack, or for as long as a block of code runs."""

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


def reader_served_at(config: Settings, port: int) -> Settings:
    """Settings that find the embedded reader's server on `port`, with the same key."""
    return config.model_copy(update={"reader_url": f"http://127.0.0.1:{port}"})


def has_reader_process(config: Settings) -> bool:
    """Whether the reader gets a server of its own beside the embedded one."""
    wanted = config.reader_process and config.reader != "off" and not config.reader_url
    return wanted and adapters.made_for(config.llm_model) is not None


def reader_child(config: Settings, port: int, log_path: Path, states: Path | None = None) -> Child:
    """The reader's server on loopback `port`, for who shows the key of `config`; what it made of menus is
    kept in the folder `states`.

    Raises:
        ModelError: its weights are not here.
    """
    adapter = adapters.made_for(config.llm_model)
    assert adapter is not None
    options: dict[str, object] = {
        "--model": resolve(config.llm_model, config.models_dir),
        "--adapter": adapters.prepared(adapter, config.models_dir),
        "--name": Path(config.llm_model).name,
        "--port": port,
        "--threads": config.llm_threads,
        "--context": config.llm_context,
    }
    checker = adapters.made_for(config.reader_checker, role="check")
    if checker is not None:
        options["--checker"] = resolve(config.reader_checker, config.models_dir)
        options["--checker-adapter"] = checker
    if states is not None:
        options |= {"--states": states, "--states-bytes": config.reader_states_bytes}
    flat = (str(part) for pair in options.items() for part in pair)
    return Child(
        name="reader",
        argv=(sys.executable, "-m", "services.engines.reader_server", *flat),
        log_path=log_path,
        ready=lambda: answers(f"http://127.0.0.1:{port}/health"),
        ready_timeout_s=MODEL_TIMEOUT_S,
        env={llama_server.KEY_ENV: config.llm_api_key},
    )


def llm_child(config: Settings, port: int, log_path: Path) -> Child:
    """The embedded llama.cpp server on loopback `port`, for who shows the key of `config` (`served_at`); with
    the learned reader, unless that has a server of its own.

    Raises:
        ModelError: its weights are not here.
    """
    reader = adapters.made_for(config.llm_model) if config.reader != "off" and not config.reader_url else None
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
def decode_server(config: Settings, *, reader_too: bool = False) -> Iterator[Settings]:
    """Settings whose `llm_url` answers to their `llm_api_key`: as they are, or with an embedded server for as
    long as the block runs, and with `reader_too` the reader's beside it, as a stack has it. For work in
    process, without queue, database or API."""
    if config.llm_url:
        yield config
        return
    with tempfile.TemporaryDirectory(prefix="saycart-") as folder:
        supervisor = Supervisor(Path(folder))
        port = any_free()
        served, children = served_at(config, port), list[Child]()
        if reader_too and has_reader_process(config):
            own = any_free()
            served = reader_served_at(served, own)
            children.append(reader_child(served, own, Path(folder) / "reader.log"))
        supervisor.start([*children, llm_child(served, port, Path(folder) / "llm.log")])
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
