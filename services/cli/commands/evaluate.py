"""`saycart eval`: score the pipeline on gold rows, in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import Progress

from infra.settings import settings
from schemas.shops.access import MAIN_SHOP
from services.cli.client import errors_shown
from services.cli.commands.explain import menu_of
from services.cli.version import commit
from services.learning.evaluation.figures import errors, figures
from services.learning.evaluation.report import write_report
from services.learning.evaluation.run import read_rows
from services.learning.evaluation.session import EvalRequest, EvalRun
from services.learning.evaluation.session import evaluate as scored

MenuFile = Annotated[Path, typer.Option(exists=True, dir_okay=False, help="menu document")]
Gold = Annotated[Path, typer.Option(exists=True, dir_okay=False, help="gold rows (JSONL)")]
AudioDir = Annotated[
    Path | None,
    typer.Option(exists=True, file_okay=False, help="folder of recordings; without it, rows are text"),
]
Out = Annotated[
    Path | None, typer.Option(help="write prediction rows here (JSONL); resumes where it stopped")
]
Report = Annotated[Path | None, typer.Option(help="write figures and predictions into this folder")]
Limit = Annotated[int | None, typer.Option(min=1, help="only the first N rows")]


def evaluate(
    menu: MenuFile,
    gold: Gold,
    audio_dir: AudioDir = None,
    out: Out = None,
    report: Report = None,
    limit: Limit = None,
) -> None:
    """Score exact carts, reviews and undetected errors; needs no running stack."""
    with errors_shown() as console:
        rows = read_rows(gold, spoken=audio_dir is not None)[:limit]
        request = EvalRequest(menu_of(str(menu), MAIN_SHOP)[0], rows, audio_dir, out)
        run = _scored(request, console)
        for row in errors(run.rows, run.broken):
            console.print(f"[yellow]{escape(row['id'])}[/] {escape(row['error'])}", soft_wrap=True)
        console.print_json(json.dumps(figures(run.rows, run.broken)))
        if report is not None:
            write_report(report, gold, request, run, settings(), commit())


def _scored(request: EvalRequest, console: Console) -> EvalRun:
    """Run the evaluation with a progress bar."""
    with Progress(console=console) as progress:
        bar = progress.add_task("loading models", total=len(request.rows))

        def on_row(run: EvalRun) -> None:
            if not run.rows and run.resumed:
                console.print(f"already done in {request.out}: {run.resumed} orders", soft_wrap=True)
            exact = sum(row.exact for row in run.rows)
            undetected = sum(row.silent for row in run.rows)
            counts = f"exact {exact}, undetected errors {undetected}" if run.rows else None
            progress.update(bar, completed=len(run.broken) + len(run.rows), description=counts)

        return scored(request, settings(), on_row)
