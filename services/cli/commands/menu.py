"""`saycart menu`: import, check, convert and export menus; docs/menu-file.md."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Annotated, Literal
from urllib.parse import quote

import typer
from rich.console import Console

from infra.settings import settings
from schemas.cart import CartDraft
from schemas.errors import EngineError, InvalidMenu
from schemas.menu import Menu, Note
from schemas.wording import drafted
from services.cli.client import answer, api, errors_shown, shown_json
from services.cli.samples import SAMPLES
from services.decoding.wire_mask import check_menu
from services.learning.evaluation.sample_orders import sample_orders
from services.tills.menus import sheets
from services.tills.menus.confusable import warnings
from services.tills.menus.detect import read_menu
from services.tills.menus.rows import rows_of_csv
from services.tills.menus.source import ImportedMenu, Overrides

app = typer.Typer(no_args_is_help=True)
TEMPLATE = SAMPLES / "menu-template.json"
Format = Literal["json", "csv", "xlsx"]
Files = Annotated[
    list[Path],
    typer.Argument(
        exists=True, dir_okay=False, metavar="FILE...", help="Menu file, spreadsheet or till's menu."
    ),
]
Url = Annotated[str | None, typer.Option("--url", help="API to talk to; default: the local stack.")]
MenuId = Annotated[str | None, typer.Option("--id", help="The menu's id, in place of the file's.")]
MenuName = Annotated[str | None, typer.Option("--name", help="The menu's name, in place of the file's.")]
Currency = Annotated[str | None, typer.Option("--currency", help="Such as USD, where the file has none.")]
TimeZone = Annotated[str | None, typer.Option("--time-zone", help="Such as America/New_York, of its hours.")]
TRIED = 20
Tried = Annotated[
    int | None,
    typer.Option(
        "--try", min=0, max=1000, help=f"Orders to decode; default: {TRIED} if a server is running."
    ),
]


@app.command("import")
def import_(
    files: Files,
    menu_id: MenuId = None,
    name: MenuName = None,
    currency: Currency = None,
    time_zone: TimeZone = None,
    url: Url = None,
) -> None:
    """Import a whole menu; a changed one becomes a new version."""
    with errors_shown() as console:
        imported = _read(console, files, Overrides(menu_id, name, currency, time_zone=time_zone))
        if imported.places:
            _checked(console, imported)
        menu_id = str(imported.document["id"])
        with api(url) as client:
            response = client.put(f"/v1/menus/{quote(menu_id, safe='')}", json=imported.document)
            summary = answer(response)
        for note in summary.get("notes", ()):  # none from an older server
            _print(console, imported.located([(note["pointer"], note["detail"])]))
        what = "new version" if response.status_code == 201 else "unchanged, version"
        console.print(f"{menu_id}: {what} {summary['version']}")


@app.command()
def check(
    files: Files,
    menu_id: MenuId = None,
    name: MenuName = None,
    currency: Currency = None,
    time_zone: TimeZone = None,
    tried: Tried = None,
) -> None:
    """Check a menu as an import would, without a running stack. Lists every problem, every name that would
    be dropped or confused, what a till's menu has that ours lacks, and which generated orders come out right;
    stores nothing."""
    with errors_shown() as console:
        imported = _read(console, files, Overrides(menu_id, name, currency, time_zone=time_zone))
        menu, notes = _checked(console, imported)
        _print(console, imported.located((*notes, *warnings(menu))))
        console.print(
            f"{menu.id}: {len(menu.items)} items, {len(menu.option_groups)} option groups, no problems"
        )
        if tried != 0:
            _try(console, menu, tried)


@app.command()
def convert(
    files: Files,
    menu_id: MenuId = None,
    name: MenuName = None,
    currency: Currency = None,
    time_zone: TimeZone = None,
) -> None:
    """Print a spreadsheet or a till's menu as a menu file, to edit and import."""
    with errors_shown():
        overrides = Overrides(menu_id, name, currency, time_zone=time_zone)
        imported = _read(Console(stderr=True, highlight=False), files, overrides)
        typer.echo(shown_json(imported.document, indent=2))


@app.command()
def export(menu_id: str, url: Url = None) -> None:
    """Print a menu document that can be imported again."""
    with errors_shown(), api(url) as client:
        typer.echo(shown_json(answer(client.get(f"/v1/menus/{menu_id}")), indent=2))


@app.command()
def template(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of menus, for editors.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="A menu file, or tables.")] = "json",
) -> None:
    """Print a menu to start from: one that uses every field, or tables as CSV or a spreadsheet."""
    tables = TEMPLATE.with_suffix(".csv").read_text(encoding="utf-8")
    if schema:
        typer.echo(json.dumps(Menu.model_json_schema(), indent=2))
    elif format_ == "xlsx":
        _write_workbook(tables)
    else:
        text = tables if format_ == "csv" else TEMPLATE.read_text(encoding="utf-8")
        typer.echo(text.rstrip())


def _write_workbook(tables: str) -> None:
    """Write CSV tables to standard output as a spreadsheet, with a sheet for each."""
    import openpyxl  # takes a quarter of a second

    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for _, row in rows_of_csv(tables, ""):
        if sheets.is_header(row):
            sheet = book.create_sheet(next(sheets.SHEETS[one] for one in sheets.SHEETS if one in row))
        if any(row):
            sheet.append(row)
    book.save(sys.stdout.buffer)


def _try(console: Console, menu: Menu, count: int | None) -> None:
    """Decode generated orders, as `saycart eval` does; without a count, only on a server that is running."""
    from services.learning.evaluation.session import EvalRequest, EvalRun, evaluate

    config = settings()
    if count is None and not config.llm_url:
        console.print(f"No orders tried: `--try {TRIED}` decodes generated ones with an engine of its own")
        return

    def show(run: EvalRun) -> None:
        if run.rows:
            row = run.rows[-1]
            read = drafted(CartDraft.model_validate(row.predicted["cart"]), menu)
            mark, rest = ("right", "") if row.exact else ("wrong", f"\n       read as {read}")
            console.print(f"{mark}  {row.gold['utterance']}{rest}", markup=False, soft_wrap=True)

    try:
        run = evaluate(EvalRequest(menu, sample_orders(menu, count or TRIED)), config, show)
    except (EngineError, OSError) as error:
        if count is not None:
            raise
        return console.print(f"No orders tried: {error}", markup=False, soft_wrap=True)
    console.print(f"{sum(row.exact for row in run.rows)} of {len(run.rows)} generated orders came out right")


def _print(console: Console, notes: list[Note]) -> None:
    for place, sentence in notes:
        console.print(f"{place}: {sentence}", markup=False, soft_wrap=True)


def _read(console: Console, files: list[Path], overrides: Overrides) -> ImportedMenu:
    """Read the files and list what is not imported; on problems, list them and exit with 1."""
    try:
        imported = read_menu([(file.name, file.read_bytes()) for file in files], overrides)
    except InvalidMenu as error:
        _print(console, error.problems)
        raise typer.Exit(1) from None
    _print(console, [(place, f"not imported: {what}") for place, what in imported.not_imported])
    return imported


def _checked(console: Console, imported: ImportedMenu) -> tuple[Menu, tuple[Note, ...]]:
    """Return the menu, and notes on names that are dropped; on problems, list them and exit with 1."""
    try:
        menu, notes = Menu.read(imported.document)
        check_menu(menu)
    except InvalidMenu as error:
        _print(console, imported.located(error.problems))
        raise typer.Exit(1) from None
    return menu, notes
