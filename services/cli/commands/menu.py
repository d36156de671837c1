"""`saycart menu check FILE`, `import FILE`, `convert FILE`, `export ID` and `template`; docs/menu-file.md."""

from __future__ import annotations

import json
import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated
from urllib.parse import quote

import typer
from rich.console import Console

from infra.settings import settings
from schemas.cart import CartDraft
from schemas.errors import InvalidMenu
from schemas.menu import Menu, Note
from schemas.wording import drafted
from services.cli.client import answer, api, errors_shown, shown_json
from services.cli.samples import SAMPLES
from services.decoding.wire_mask import check_menu
from services.learning.evaluation.sample_orders import sample_orders
from services.tills.menus import sheets
from services.tills.menus.confusable import warnings
from services.tills.menus.detect import read_menu
from services.tills.menus.imported import Given, ImportedMenu

app = typer.Typer(no_args_is_help=True)
TEMPLATE = SAMPLES / "menu-template.json"
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
Tried = Annotated[
    int,
    typer.Option("--try", min=0, max=1000, help="Generate this many orders, and show which come out right."),
]


class Format(StrEnum):
    JSON = "json"
    CSV = "csv"
    XLSX = "xlsx"


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
        imported = _read(console, files, Given(menu_id, name, currency, time_zone=time_zone))
        if imported.places:
            _checked(console, imported)
        menu_id = str(imported.document["id"])
        with api(url) as client:
            response = client.put(f"/v1/menus/{quote(menu_id, safe='')}", json=imported.document)
            summary = answer(response)
        for note in summary.get("notes", ()):  # none from an older server
            _print(console, [(imported.place(note["pointer"]), note["detail"])])
        what = "new version" if response.status_code == 201 else "unchanged, version"
        console.print(f"{menu_id}: {what} {summary['version']}")


@app.command()
def check(
    files: Files,
    menu_id: MenuId = None,
    name: MenuName = None,
    currency: Currency = None,
    time_zone: TimeZone = None,
    tried: Tried = 0,
) -> None:
    """Check a menu as an import would, without a running stack. Lists every problem, every name that would
    be dropped or confused, and what a till's menu has that ours lacks; stores nothing."""
    with errors_shown() as console:
        imported = _read(console, files, Given(menu_id, name, currency, time_zone=time_zone))
        menu, notes = _checked(console, imported)
        _print(console, [(imported.place(path), note) for path, note in (*notes, *warnings(menu))])
        console.print(
            f"{menu.id}: {len(menu.items)} items, {len(menu.option_groups)} option groups, no problems"
        )
        if tried:
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
        given = Given(menu_id, name, currency, time_zone=time_zone)
        imported = _read(Console(stderr=True, highlight=False), files, given)
        typer.echo(shown_json(imported.document, indent=2))


@app.command()
def export(menu_id: str, url: Url = None) -> None:
    """Print a menu document that can be imported again."""
    with errors_shown(), api(url) as client:
        typer.echo(shown_json(answer(client.get(f"/v1/menus/{menu_id}")), indent=2))


@app.command()
def template(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of menus, for editors.")] = False,
    format_: Annotated[Format, typer.Option("--format", help="A menu file, or tables.")] = Format.JSON,
) -> None:
    """Print a menu to start from: one that uses every field, or tables as CSV or a spreadsheet."""
    tables = TEMPLATE.with_suffix(".csv").read_text(encoding="utf-8")
    if schema:
        typer.echo(json.dumps(Menu.model_json_schema(), indent=2))
    elif format_ is Format.XLSX:
        sys.stdout.buffer.write(sheets.xlsx(tables))
    else:
        text = tables if format_ is Format.CSV else TEMPLATE.read_text(encoding="utf-8")
        typer.echo(text.rstrip())


def _try(console: Console, menu: Menu, count: int) -> None:
    """Decode generated orders with the engine of this machine, as `saycart eval` does."""
    from services.learning.evaluation.session import EvalRequest, EvalRun, evaluate

    def show(run: EvalRun) -> None:
        if run.rows:
            row = run.rows[-1]
            read = drafted(CartDraft.model_validate(row.predicted["cart"]), menu)
            mark, rest = ("right", "") if row.exact else ("wrong", f"\n       read as {read}")
            console.print(f"{mark}  {row.gold['utterance']}{rest}", markup=False, soft_wrap=True)

    run = evaluate(EvalRequest(menu, sample_orders(menu, count)), settings(), show)
    console.print(f"{sum(row.exact for row in run.rows)} of {len(run.rows)} generated orders came out right")


def _print(console: Console, notes: list[Note]) -> None:
    for place, sentence in notes:
        console.print(f"{place}: {sentence}", markup=False, soft_wrap=True)


def _read(console: Console, files: list[Path], given: Given) -> ImportedMenu:
    """Read the files and list what is not imported; exits with 1, listing why, if they can't be read."""
    try:
        imported = read_menu([(file.name, file.read_bytes()) for file in files], given)
    except InvalidMenu as error:
        _print(console, error.problems)
        raise typer.Exit(1) from None
    _print(console, [(place, f"not imported: {what}") for place, what in imported.lacking])
    return imported


def _checked(console: Console, imported: ImportedMenu) -> tuple[Menu, tuple[Note, ...]]:
    """The menu, and what would be dropped of it; exits with 1 after listing its problems."""
    try:
        menu, notes = Menu.read(imported.document)
        check_menu(menu)
    except InvalidMenu as error:
        _print(console, [(imported.place(path), problem) for path, problem in error.problems])
        raise typer.Exit(1) from None
    return menu, notes
