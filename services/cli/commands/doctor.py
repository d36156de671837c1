"""`saycart doctor`: what is installed, what answers, what is missing and how to fix it."""

from __future__ import annotations

import ctypes.util
import importlib.metadata
import shutil
import sys
from collections.abc import Iterator
from typing import Annotated

import httpx
import typer
from rich.console import Console
from rich.markup import escape

from infra.redis.server import version as redis_version
from infra.settings import Settings, addresses, settings
from infra.weights.models import ModelError, resolve
from schemas.errors import StorageUnavailable
from services.cli.checks import Check, checked

PACKAGES = ("celery", "faster-whisper", "xllamacpp", "llguidance", "sqlalchemy", "fastapi", "av")


def doctor(
    probe: Annotated[
        bool, typer.Option(help="start the embedded engine, if no server is set, and probe its mask")
    ] = True,
    engine: Annotated[
        bool, typer.Option("--engine", help="check what each decode server makes of the masks instead")
    ] = False,
) -> None:
    """Check this installation part by part; exit code 1 when something is missing."""
    console = Console(highlight=False)
    checks = [_python, _packages, _libraries, _models, _database, _recordings, _queue, _stack]
    if engine:
        from services.cli.commands.doctor_engine import engine_checks

        checks = [engine_checks]
    elif probe:
        checks.append(_decoder)
    missing = 0
    for check in checks:
        for what, state, fix in check(settings()):
            missing += bool(fix)
            console.print(f"{'[red]✗[/]' if fix else '[green]✓[/]'} {what}: {escape(state)}", soft_wrap=True)
            if fix:
                console.print(f"    [dim]{escape(fix)}[/]", soft_wrap=True)
    if missing:
        console.print(f"\n{missing} to fix.")
        raise typer.Exit(1)
    console.print("\nEverything works.")


def _python(_config: Settings) -> Iterator[Check]:
    good = (3, 11) <= sys.version_info[:2] < (3, 14)
    yield "Python", sys.version.split()[0], "" if good else "Use Python 3.11: make PYTHON=python3.11"


def _packages(_config: Settings) -> Iterator[Check]:
    versions = (f"{name} {importlib.metadata.version(name)}" for name in PACKAGES)
    yield from checked("packages", lambda: ", ".join(versions), "Run `make setup`.")


def _libraries(_config: Settings) -> Iterator[Check]:
    found = ctypes.util.find_library("gomp")
    yield "libgomp", found or "not found", "" if found else "apt-get install libgomp1"
    yield from checked("redis-server (embedded)", lambda: redis_version(), "Run `make setup` again.")


def _models(config: Settings) -> Iterator[Check]:
    names = {"speech model": config.whisper_model}
    if config.whisper_second:
        names["second speech model"] = config.whisper_second
    if config.denoiser:
        names["denoiser"] = config.denoiser
    if not config.llm_url:
        names["language model"] = config.llm_model
    for what, name in names.items():
        try:
            resolve(name, config.models_dir)
            yield what, name, ""
        except ModelError as error:
            yield what, error.detail, error.hint
    free_gb = shutil.disk_usage(config.home.parent).free / 1e9
    yield (
        "disk",
        f"{free_gb:.0f} GB free",
        "" if free_gb > 3 else "Free some space; weights and recordings need 3 GB.",
    )


def _database(config: Settings) -> Iterator[Check]:
    if not config.database_url:
        yield "database", "SQLite, embedded", ""
        return
    from infra.sql.database import Database

    database = Database(config.database)

    def ping() -> str:
        try:
            database.ping()
        except StorageUnavailable as error:
            raise OSError(str(error.__cause__ or error)) from error
        return "ok"

    yield from checked("database", ping, "Check DATABASE_URL.")
    try:
        found = database.row_security()
        kept = f"the policies of {len(found.held)} tables apply to the role {found.role}"
        yield ("row security", *(found.fault or (kept, "")))
    except StorageUnavailable:
        pass  # reported above
    finally:
        database.close()


def _recordings(config: Settings) -> Iterator[Check]:
    if not config.recordings_url:
        yield "recordings", "local folder", ""
        return
    from services.recordings import store_of

    def tried() -> str:
        store_of(config).check()
        return f"{config.recordings_url} is writable"

    yield from checked("recordings", tried, "Check SAYCART_RECORDINGS_URL and the bucket's credentials.")


def _queue(config: Settings) -> Iterator[Check]:
    if not config.redis_url:
        yield "queue", "Redis, embedded", ""
        return
    from infra.redis.address import client

    def ping() -> str:
        with client(config.redis_url, connect_s=2, answer_s=2) as opened:
            opened.ping()
        return "ok"

    yield from checked("queue", ping, "Check REDIS_URL.")


def _stack(config: Settings) -> Iterator[Check]:
    """Check the stack; one that isn't running is not a problem."""
    url = f"http://{config.api_host}:{config.api_port}"
    try:
        ready = httpx.get(f"{url}/readyz", timeout=3.0, trust_env=False)
    except httpx.HTTPError:
        yield "stack", f"not running at {url} (start it with `saycart run`)", ""
        return
    problems = {k: v for k, v in ready.json().get("checks", {}).items() if v != "ok"}
    yield "stack", f"{url} {problems or 'ready'}", f"See {config.home / 'logs'}" if problems else ""


def _decoder(config: Settings) -> Iterator[Check]:
    """Check that the decode server applies a mask: only then can it produce the probe's word."""
    from services.decoding.decoder import OpenAIDecoder
    from services.decoding.hosts.embedded import decode_server

    def masked() -> str:
        with decode_server(config) as here:
            urls = addresses(here.llm_url)
            for url in urls:
                OpenAIDecoder(
                    url, dialect=here.llm_dialect, model=here.llm_model, api_key=here.llm_api_key
                ).probe()
            return f"{here.llm_dialect} applies the mask" + (f", all {len(urls)}" if len(urls) > 1 else "")

    yield from checked("decoder", masked, "Check SAYCART_LLM_URL: vLLM's begins with vllm+http://.")
