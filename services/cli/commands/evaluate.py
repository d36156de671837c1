"""`saycart eval`: score the pipeline's own steps on gold rows, in process; compare and sum up reports."""

from __future__ import annotations

import json
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.table import Table

from infra.processes.supervisor import SupervisorError
from infra.settings import settings
from infra.weights.models import ModelError
from schemas.errors import InputError
from schemas.menu import Menu
from services.bootstrap import bootstrap
from services.cli.client import told
from services.cli.provenance import about, made_with
from services.engines.servers.embedded import decode_server
from services.evaluation.cases import Names
from services.evaluation.compare import compare, load_run, write_comparison
from services.evaluation.figures import Scored, errors, figures, judge
from services.evaluation.page import percent
from services.evaluation.predictions import Predictions
from services.evaluation.report import write_report
from services.evaluation.run import predict, read_rows
from services.evaluation.summary import write_summary

app = typer.Typer(invoke_without_command=True)
# Points of curves and bins: for the report, not for a terminal.
_LONG = ("risk_coverage", "reliability")


@app.callback(invoke_without_command=True)
def evaluate(
    context: typer.Context,
    menu: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="menu document")] = None,
    gold: Annotated[Path | None, typer.Option(exists=True, dir_okay=False, help="gold rows (JSONL)")] = None,
    audio_dir: Annotated[
        Path | None,
        typer.Option(exists=True, file_okay=False, help="folder of recordings; without it, rows are text"),
    ] = None,
    out: Annotated[
        Path | None,
        typer.Option(help="write prediction rows here (JSONL); resumes where it stopped"),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="write figures.json and index.html here")] = None,
    limit: Annotated[int | None, typer.Option(min=1, help="only the first N rows")] = None,
    condition: Annotated[
        str | None, typer.Option(help="label of this run in the report, such as `babble 10 dB`")
    ] = None,
    jobs: Annotated[
        int, typer.Option(min=1, max=16, help="orders in parallel; more than one increases latencies")
    ] = 1,
    keep: Annotated[
        Path | None,
        typer.Option(file_okay=False, help="cache transcripts and decoded carts here"),
    ] = None,
) -> None:
    """Score exact carts, reviews and silent errors; needs no running stack."""
    if context.invoked_subcommand is not None:
        return
    if menu is None or gold is None:
        raise typer.BadParameter("required", param_hint="'--menu' and '--gold'")
    with told() as console:
        gold_rows = _all_said(read_rows(gold)[:limit], audio_dir)
        document = _menu(menu)
        try:
            rows, broken, kept, taken_up = _run(
                gold_rows, document, audio_dir, out, console, jobs=jobs, keep=keep
            )
        except (ModelError, SupervisorError) as error:
            raise InputError(error.detail, hint=error.hint) from None
        config = settings()
        found = figures(rows, config.asr_threshold, broken)
        _print(console, errors(rows, broken), found)
        if report is not None:
            run = about(
                menu_id=document.id,
                gold=gold,
                rows=len(rows),
                spoken=sum(row.spoken for row in rows),
                condition=condition,
                jobs=jobs,
                kept=kept,
                taken_up=taken_up,
                config=config,
            )
            names, asr = Names.of(document), config.asr_threshold
            page = write_report(
                report, rows, run, asr_threshold=asr, names=names, audio_dir=audio_dir, broken=broken
            )
            console.print(f"report: {page}")


@app.command("compare")
def compare_runs(
    a: Annotated[Path, typer.Argument(exists=True, help="a report folder, or predictions (JSONL)")],
    b: Annotated[Path, typer.Argument(exists=True, help="the run to compare with")],
    gold: Annotated[
        Path | None,
        typer.Option(exists=True, dir_okay=False, help="gold rows, needed for predictions without a report"),
    ] = None,
    report: Annotated[Path | None, typer.Option(help="write comparison.json and index.html here")] = None,
) -> None:
    """Show which orders changed between two runs of one gold file, with paired tests."""
    with told() as console:
        rows = None if gold is None else [row for row in read_rows(gold) if "error" not in row]
        before, after = load_run(a, rows), load_run(b, rows)
        found = compare(before, after)
        console.print(_tests(found))
        console.print(_changes(found))
        if report is not None:
            page = write_comparison(report, before, after, found, settings().asr_threshold)
            console.print(f"report: {page}")


@app.command("summary")
def summary(
    reports: Annotated[list[Path], typer.Argument(exists=True, file_okay=False, help="report folders")],
    report: Annotated[Path, typer.Option(help="write summary.json and index.html here")],
) -> None:
    """Combine reports into one table, with exact carts by condition."""
    with told() as console:
        console.print(f"report: {write_summary(report, reports)}")


def _tests(found: dict[str, Any]) -> Table:
    a, b = found["a"], found["b"]
    table = Table(title=f"{escape(a['name'])} (A) and {escape(b['name'])} (B), {a['rows']} orders")
    for name in ("", "A", "B", "B minus A", "95% interval", "only A", "only B", "p"):
        table.add_column(name, justify="right" if name else "left")
    for name, key in (("exact carts", "exact_share"), ("silent errors", "silent_share")):
        test = found["tests"][name]
        low, high = test["difference_ci"]
        table.add_row(
            name,
            percent(a[key]),
            percent(b[key]),
            f"{test['difference']:+.1%}",
            f"{low:+.1%} to {high:+.1%}",
            str(test["only_a"]),
            str(test["only_b"]),
            f"{test['p']:.4f}",
        )
    difference = f"{b['review_share'] - a['review_share']:+.1%}"
    table.add_row("sent to review", percent(a["review_share"]), percent(b["review_share"]), difference)
    return table


def _changes(found: dict[str, Any]) -> Table:
    table = Table()
    for name in ("change", "orders", "ids"):
        table.add_column(name, justify="right" if name == "orders" else "left", overflow="fold")
    for change, ids in found["changes"].items():
        table.add_row(change, str(len(ids)), escape(", ".join(ids)))
    return table


def _print(console: Console, failed: list[dict[str, Any]], found: dict[str, Any]) -> None:
    for row in failed:
        console.print(f"[yellow]{escape(row['id'])}[/] {escape(row['error'])}", soft_wrap=True)
    console.print_json(json.dumps({name: value for name, value in found.items() if name not in _LONG}))


def _all_said(rows: list[dict[str, Any]], audio_dir: Path | None) -> list[dict[str, Any]]:
    """The same rows. Raises InputError where one has no words, but only a recording that is not at hand."""
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


def _run(
    gold: list[dict[str, Any]],
    menu: Menu,
    audio_dir: Path | None,
    out: Path | None,
    console: Console,
    *,
    jobs: int,
    keep: Path | None,
) -> tuple[list[Scored], list[dict[str, Any]], dict[str, int], int]:
    """Scored rows in the order of `gold`, those that are broken, how many answers were kept from an earlier
    run, by kind, and how many rows an earlier start of this one had finished."""
    rows: list[Scored] = []
    broken = [row for row in gold if "error" in row]
    whole = [row for row in gold if "error" not in row]
    taken: dict[str, int] = {}
    exact = silent = 0
    progress = Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=console,
    )
    with Predictions(out, gold, made_with(menu, settings()), audio_dir) as predictions, progress:
        bar = progress.add_task("loading models", total=len(gold))
        for row in broken:
            predictions.write(row)
            progress.update(bar, advance=1)
        if len(predictions):
            console.print(f"already done in {out}: {len(predictions)} of {len(whole)} orders")
        with ExitStack() as stack:
            config = stack.enter_context(decode_server(settings()))
            container = bootstrap(config)
            if keep is None:
                tools = container.tools
                container.warm_menu(menu, 1)
            else:
                from services.evaluation import kept as answers  # it loads what masks

                tools, kept = answers.keep(container, keep)
                taken = kept.taken
            if audio_dir is not None and any(row.get("audio") for row in whole):
                tools.transcriber()  # missing weights end the run here, and not each of its rows
            workers = ThreadPoolExecutor(jobs)
            stack.callback(workers.shutdown, cancel_futures=True)  # Ctrl-C ends it after those under way

            def scored(row: dict[str, Any]) -> Scored:
                return judge(row, predictions.known(row) or predict(row, menu, tools, audio_dir))

            for done in workers.map(scored, whole):
                rows.append(done)
                exact += done.exact
                silent += done.silent
                predictions.write(done.predicted)
                progress.update(bar, advance=1, description=f"exact {exact}, silent errors {silent}")
        return rows, broken, dict(taken), len(predictions)
