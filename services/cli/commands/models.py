"""`saycart models`: fetch, list and verify the weights."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape
from rich.table import Column, Table

from infra.settings import settings
from infra.weights.models import ModelError, default_names, fetch, installed, lock, test_names, verify
from services.bootstrap import bootstrap
from services.cli.client import errors_shown

app = typer.Typer(help="Fetch, list and verify model weights.", no_args_is_help=True)
output = Console()
# Progress and errors go to stderr: a list stays clean in a pipe.
messages = Console(stderr=True)


@app.command("fetch")
def fetch_command(
    names: Annotated[list[str] | None, typer.Argument(help="Model names; see `models list`.")] = None,
    every: Annotated[bool, typer.Option("--all", help="Fetch every model in the lock.")] = False,
    tests: Annotated[bool, typer.Option("--tests", help="Also fetch what the tests need.")] = False,
) -> None:
    """Fetch and verify weights; by default those that the settings use."""
    configured = settings()
    selected = list(names or ())
    if every:
        selected += lock().names
    if tests:
        selected += test_names()
    if not selected:
        selected += default_names()
    if not names:
        named = (
            configured.whisper_model,
            configured.whisper_second,
            configured.denoiser,
            configured.llm_model,
        )
        selected += [name for name in named if name in lock().names]
    selected = list(dict.fromkeys(selected))
    with errors_shown():
        fetch(selected, configured.models_dir, messages)
        # Now, while the folder is writable, rather than when each worker starts.
        bootstrap(configured).write_adapted(selected)
    size = decimal(sum(lock().get(name).bytes for name in selected))
    where = escape(str(configured.models_dir))
    messages.print(f"weights present: {len(selected)}, {size}, {where}", soft_wrap=True, highlight=False)


@app.command("list")
def list_command() -> None:
    """List models with size, license and whether they are present."""
    folder = settings().models_dir
    # Names are copied by users: never truncate them.
    table = Table(Column("name", no_wrap=True), "size", "licence", "for", "here", box=None, pad_edge=False)
    for model in lock().models:
        purpose = "demo" if model.default else "tests" if model.test else "choice"
        here = "[green]yes[/]" if installed(model.name, folder) else "no"
        table.add_row(model.name, decimal(model.bytes), model.licence, purpose, here)
    output.print(table)


@app.command("verify")
def verify_command() -> None:
    """Verify the checksums of all present models."""
    folder = settings().models_dir
    present = [name for name in lock().names if (folder / name).exists()]
    damaged = []
    with errors_shown():
        for name in present:
            problems = verify(name, folder, messages)
            output.print(f"{name}: {'; '.join(problems) or 'ok'}", soft_wrap=True, highlight=False)
            if problems:
                damaged.append(name)
        if damaged:
            again = " ".join(damaged)
            raise ModelError(f"Damaged: {again}.", hint=f"Run `saycart models fetch {again}`.")
        if not present:
            raise ModelError(f"No weights in {folder}.", hint="Run `make weights`.")
