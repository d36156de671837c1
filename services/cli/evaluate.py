"""`saycart eval`: score the pipeline's own steps on gold rows, in process."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from infra.models import ModelError
from infra.settings import settings
from infra.supervisor import SupervisorError
from schemas.errors import InputError
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.cli.client import told
from services.evaluation.report import Tally, write_report
from services.evaluation.run import predict, read_gold
from services.workers.stack import decode_server

app = typer.Typer(invoke_without_command=True)


@app.callback(invoke_without_command=True)
def evaluate(
    menu: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="menu document")],
    gold: Annotated[Path, typer.Option(exists=True, dir_okay=False, help="gold rows (JSONL)")],
    audio_dir: Annotated[
        Path | None, typer.Option(exists=True, file_okay=False, help="recordings; without it rows are text")
    ] = None,
    out: Annotated[Path | None, typer.Option(help="write prediction rows here (JSONL)")] = None,
    report: Annotated[Path | None, typer.Option(help="write figures.json and index.html here")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="only the first so many rows")] = None,
) -> None:
    """Score exact carts, reviews and silent errors. Needs no running stack."""
    with told() as console:
        rows = read_gold(gold)[:limit]
        document = _menu(menu)
        unusable = [
            row["id"] for row in rows if not (audio_dir and row.get("audio")) and not row.get("utterance")
        ]
        if unusable:
            raise InputError(
                f"{len(unusable)} rows have no utterance, only audio: {', '.join(unusable[:3])}",
                hint="Name the folder of the recordings with --audio-dir.",
            )
        try:
            tally = _run(rows, document, audio_dir, out, console)
        except (ModelError, SupervisorError) as error:
            raise InputError(error.detail, hint=error.hint) from None
        figures = tally.figures()
        console.print_json(json.dumps(figures))
        if report is not None:
            about = {"menu": document.id, "gold": gold.name, "spoken": audio_dir is not None}
            console.print(f"report: {write_report(report, tally, about)}")


def _menu(path: Path) -> Menu:
    try:
        return Menu.parse(json.loads(path.read_text()))
    except ValueError as error:
        raise InputError(f"{path} is not JSON: {error}") from None


def _run(
    rows: list[dict[str, Any]], menu: Menu, audio_dir: Path | None, out: Path | None, console: Console
) -> Tally:
    tally = Tally()
    predictions = out.open("w") if out is not None else None
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    try:
        with progress:
            bar = progress.add_task("loading models", total=len(rows))
            with decode_server(settings()) as config:
                container = bootstrap(config)
                container.warm_menu(menu, 1)
                for row in rows:
                    predicted = predict(row, menu, container.tools, audio_dir)
                    tally.add(row, predicted)
                    if predictions is not None:
                        predictions.write(json.dumps(predicted, ensure_ascii=False) + "\n")
                        predictions.flush()
                    progress.update(
                        bar,
                        advance=1,
                        description=f"exact {tally.exact}, silent errors {tally.silent_errors}",
                    )
    finally:
        if predictions is not None:
            predictions.close()
    return tally
