"""`saycart doctor`: check an installation, and say how to fix what is missing."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import os
import shutil
import sys
from collections.abc import Iterator
from functools import partial
from typing import Annotated

import httpx
import typer
from rich.console import Console
from rich.markup import escape

from infra.redis.server import version as redis_version
from infra.settings import Settings, settings
from infra.weights.models import resolve
from schemas.errors import SaycartError
from services.cli.client import Check, checked
from services.cli.commands.doctor_engine import decoder_of, engine_checks
from services.cli.version import COMMIT_ENV
from services.decoding.hosts.embedded import decode_server
from services.decoding.server.llama import compiled

PACKAGES = ("celery", "faster-whisper", "xllamacpp", "llguidance", "sqlalchemy", "fastapi", "av")
LEAST_FREE_GB = 3


def doctor(
    engine: Annotated[
        bool, typer.Option("--engine", help="check what the decode server makes of the masks instead")
    ] = False,
) -> None:
    """Check this installation part by part; exit code 1 when something is missing."""
    console = Console(highlight=False)
    missing = 0
    for what, state, fix in (engine_checks if engine else _checks)(settings()):
        missing += bool(fix)
        console.print(f"{'[red]✗[/]' if fix else '[green]✓[/]'} {what}: {escape(state)}", soft_wrap=True)
        if fix:
            console.print(f"    [dim]{escape(fix)}[/]", soft_wrap=True)
    if missing:
        console.print(f"\n{missing} to fix.")
        raise typer.Exit(1)
    console.print("\nEverything works.")


def _checks(config: Settings) -> Iterator[Check]:
    yield "Python", sys.version.split()[0], ""
    yield checked("settings", _settings, "docs/reference/settings.md lists them.")
    yield checked("packages", _packages, "Run `make setup`.")
    yield checked("libgomp", _libgomp, "apt-get install libgomp1")
    if not config.llm_url:
        yield checked("llama.cpp", _llama, "Run `make setup`.")
    yield checked("redis-server (embedded)", redis_version, "Run `make setup` again.")
    models = {
        "speech model": config.whisper_model,
        "second speech model": config.whisper_second,
        "denoiser": config.denoiser,
        "language model": "" if config.llm_url else config.llm_model,
    }
    for what, name in models.items():
        if name:
            yield checked(what, partial(_model, name, config), "Run `make weights`.")
    yield checked("disk", partial(_disk, config), f"Weights and recordings need {LEAST_FREE_GB} GB.")
    yield from database_checks(config)
    yield checked(
        "recordings",
        partial(_recordings, config),
        "Check SAYCART_RECORDINGS_URL and the bucket's credentials.",
    )
    yield checked("queue", partial(_queue, config), "Check REDIS_URL.")
    yield checked("stack", partial(_stack, config), f"See {config.home / 'logs'}")
    yield checked(
        "decoder", partial(_decoder, config), "Check SAYCART_LLM_URL: vLLM's begins with vllm+http://."
    )


def _settings() -> str:
    names = {name for name in os.environ if name.startswith("SAYCART_")}
    fields = Settings.model_fields.items()
    known = {f"SAYCART_{name}".upper() for name, field in fields if field.validation_alias is None}
    if unknown := sorted(names - known - {"SAYCART_READY_FILE", COMMIT_ENV}):
        raise ValueError(f"there is no {', '.join(unknown)}")
    return f"{len(names)} in the environment"


def _packages() -> str:
    return ", ".join(f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)


def _libgomp() -> str:
    if (library := ctypes.util.find_library("gomp")) is None:
        raise FileNotFoundError("not found")
    return library


def _llama() -> str:
    if compiled():
        return "compiled for this processor"
    return "the package's, which uses no instructions beyond AVX2; faster: `make engine`"


def _model(name: str, config: Settings) -> str:
    resolve(name, config.models_dir)
    return name


def _disk(config: Settings) -> str:
    state = f"{(free_gb := shutil.disk_usage(config.home.parent).free / 1e9):.0f} GB free"
    if free_gb < LEAST_FREE_GB:
        raise OSError(state)
    return state


def database_checks(config: Settings) -> Iterator[Check]:
    """Check that the database responds and keeps shops apart."""
    if not config.database_url:
        yield "database", "SQLite, embedded", ""
        return
    from infra.sql.database import Database

    database = Database(config.database)
    try:
        security = database.row_security()
    except SaycartError as error:
        yield "database", str(error.__cause__ or error), "Check DATABASE_URL."
    else:
        yield "database", "ok", ""
        state = f"the policies of {len(security.enforced)} tables apply to the role {security.role}"
        yield ("row security", *(security.fault or (state, "")))
    finally:
        database.close()


def _recordings(config: Settings) -> str:
    if not config.recordings_url:
        return "local folder"
    from services.recordings import store_of

    store_of(config).check()
    return f"{config.recordings_url} is writable"


def _queue(config: Settings) -> str:
    if not config.redis_url:
        return "Redis, embedded"
    from infra.redis.address import client

    with client(config.redis_url, connect_s=2, answer_s=2) as opened:
        opened.ping()
    return "ok"


def _stack(config: Settings) -> str:
    """Check the stack; it need not be running."""
    url = f"http://{config.api_host}:{config.api_port}"
    try:
        ready = httpx.get(f"{url}/readyz", timeout=3.0, trust_env=False)
    except httpx.HTTPError:
        return f"not running at {url} (start it with `saycart run`)"
    problems = {part: state for part, state in ready.json().get("checks", {}).items() if state != "ok"}
    if problems:
        raise OSError(f"{url} {problems}")
    return f"{url} ready"


def _decoder(config: Settings) -> str:
    """Check that the decode server applies a mask, by a word that it can't produce otherwise."""
    with decode_server(config) as served:
        decoder_of(served).probe()
        return f"{served.llm_dialect} applies the mask"
