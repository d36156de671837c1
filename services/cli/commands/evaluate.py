"""`saycart eval`: score the pipeline on gold rows, in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from infra.settings import settings
from schemas.errors import InputError
from schemas.menu import Menu
from services.cli.client import errors_shown
from services.learning.evaluation.figures import errors, figures
from services.learning.evaluation.provenance import EvalRequest, EvalRun, about
from services.learning.evaluation.report import write_report
from services.learning.evaluation.run import read_rows
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
Report = Annotated[Path | None, typer.Option(help="write the figures and index.html into this folder")]
Limit = Annotated[int | None, typer.Option(min=1, help="only the first N rows")]
Jobs = Annotated[int, typer.Option(min=1, max=16, help="orders in parallel; more than one adds latency")]


def evaluate(
    menu: MenuFile,
    gold: Gold,
    audio_dir: AudioDir = None,
    out: Out = None,
    report: Report = None,
    limit: Limit = None,
    jobs: Jobs = 1,
) -> None:
    """Score exact carts, reviews and undetected errors; needs no running stack."""
    with errors_shown() as console:
        rows = _with_input(read_rows(gold)[:limit], audio_dir)
        request = EvalRequest(_menu(menu), gold, rows, audio_dir, out, jobs)
        run = _scored(request, console)
        _print(console, run)
        if report is not None:
            page = write_report(report, run.rows, about(request, run, settings()), run.broken)
            console.print(f"report: {page}")


def _scored(request: EvalRequest, console: Console) -> EvalRun:
    """Run the evaluation with a progress bar."""
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console) as progress:
        bar = progress.add_task("loading models", total=len(request.rows))

        def on_row(run: EvalRun) -> None:
            done = len(run.broken) + len(run.rows)
            if not run.rows:
                if run.resumed:
                    whole = len(request.rows) - len(run.broken)
                    console.print(
                        f"already done in {request.out}: {run.resumed} of {whole} orders", soft_wrap=True
                    )
                progress.update(bar, completed=done)
                return
            exact = sum(row.exact for row in run.rows)
            undetected = sum(row.silent for row in run.rows)
            counts = f"exact {exact}, undetected errors {undetected}"
            progress.update(bar, completed=done, description=counts)

        return scored(request, settings(), on_row)


def _print(console: Console, run: EvalRun) -> None:
    for row in errors(run.rows, run.broken):
        console.print(f"[yellow]{escape(row['id'])}[/] {escape(row['error'])}", soft_wrap=True)
    console.print_json(json.dumps(figures(run.rows, run.broken)))


def _with_input(rows: list[dict[str, Any]], audio_dir: Path | None) -> list[dict[str, Any]]:
    """Return `rows`; raises InputError if one has neither an utterance nor an available recording."""
    unusable = [
        row["id"]
        for row in rows
        if "error" not in row and not (audio_dir and row.get("audio")) and not row.get("utterance")
    ]
    if unusable:
        raise InputError(
            f"{len(unusable)} rows have no utterance, only audio: {', '.join(unusable[:3])}",
            hint="Pass the folder of recordings with --audio-dir.",
        )
    return rows


def _menu(path: Path) -> Menu:
    try:
        return Menu.parse(json.loads(path.read_text()))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None
