"""`saycart models`: fetch and verify the weights."""

from __future__ import annotations

from typing import Annotated

import typer
from rich.console import Console
from rich.filesize import decimal
from rich.markup import escape

from infra.settings import settings
from infra.weights.lock import ModelError, default_names, lock, test_names
from infra.weights.models import fetch, verify
from services.bootstrap import bootstrap
from services.cli.client import errors_shown

app = typer.Typer(help="Fetch and verify model weights.", no_args_is_help=True)


@app.command("fetch")
def fetch_command(
    names: Annotated[
        list[str] | None, typer.Argument(help="Names in infra/weights/models.lock.json.")
    ] = None,
    tests: Annotated[bool, typer.Option("--tests", help="Also fetch what the tests need.")] = False,
) -> None:
    """Fetch and verify weights; by default those that the settings use."""
    config = settings()
    console = Console(stderr=True, highlight=False)
    selected = [*(names or ()), *(test_names() if tests else ())]
    if not names:
        used = (config.whisper_model, config.whisper_second, config.denoiser, config.llm_model)
        selected += [*default_names(), *(name for name in used if name in lock().names)]
    selected = list(dict.fromkeys(selected))
    with errors_shown():
        fetch(selected, config.models_dir, console)
        # Now, while the folder is writable, rather than when each worker starts.
        bootstrap(config).write_adapted(selected)
    size = decimal(sum(lock().get(name).bytes for name in selected))
    where = escape(str(config.models_dir))
    console.print(f"weights present: {len(selected)}, {size}, {where}", soft_wrap=True)


@app.command("verify")
def verify_command() -> None:
    """Verify the checksums of all present models."""
    folder = settings().models_dir
    damaged = []
    with errors_shown() as console:
        present = [name for name in lock().names if (folder / name).exists()]
        for name in present:
            problems = verify(name, folder)
            console.print(f"{name}: {'; '.join(problems) or 'ok'}", soft_wrap=True)
            damaged += [name] if problems else []
        if damaged:
            again = " ".join(damaged)
            raise ModelError(f"Damaged: {again}.", hint=f"Run `saycart models fetch {again}`.")
        if not present:
            raise ModelError(f"No weights in {folder}.", hint="Run `make weights`.")
