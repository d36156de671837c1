"""`saycart menu check FILE`, `import FILE`, `export ID` and `template`; docs/menu-file.md has the fields."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any
from urllib.parse import quote

import typer
from rich.console import Console

from schemas.errors import InputError, InvalidMenu
from schemas.menu import Menu
from services.cli.client import answer, api, errors_shown, shown_json
from services.cli.samples import SAMPLES
from services.decoding.wire_mask import check_menu

app = typer.Typer(no_args_is_help=True)
File = Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="menu document (JSON)")]
TEMPLATE = SAMPLES / "menu-template.json"
Url = Annotated[str | None, typer.Option("--url", help="API to talk to; default: the local stack.")]


@app.command("import")
def import_(
    file: File,
    url: Url = None,
) -> None:
    """Import a whole menu; a changed one becomes a new version."""
    with errors_shown() as console:
        document = _document(file)
        menu_id = document["id"]
        with api(url) as client:
            response = client.put(f"/v1/menus/{quote(menu_id, safe='')}", json=document)
            summary = answer(response)
        for note in summary.get("notes", ()):  # none from an older server
            _print(console, note["pointer"], note["detail"])
        what = "new version" if response.status_code == 201 else "unchanged, version"
        console.print(f"{menu_id}: {what} {summary['version']}")


@app.command()
def check(file: File) -> None:
    """Check a menu as an import would, without a running stack. Lists every problem and every name that
    would be dropped; stores nothing."""
    with errors_shown() as console:
        document = _document(file)
        try:
            menu, notes = Menu.read(document)
            check_menu(menu)
        except InvalidMenu as error:
            for path, problem in error.problems:
                _print(console, path, problem)
            raise typer.Exit(1) from None
        for path, note in notes:
            _print(console, path, note)
        console.print(
            f"{menu.id}: {len(menu.items)} items, {len(menu.option_groups)} option groups, no problems"
        )


@app.command()
def export(menu_id: str, url: Url = None) -> None:
    """Print a menu document that can be imported again."""
    with errors_shown(), api(url) as client:
        typer.echo(shown_json(answer(client.get(f"/v1/menus/{menu_id}")), indent=2))


@app.command()
def template(
    schema: Annotated[bool, typer.Option("--schema", help="The JSON Schema of menus, for editors.")] = False,
) -> None:
    """Print a menu that uses every field, to start from."""
    typer.echo(
        json.dumps(Menu.model_json_schema(), indent=2)
        if schema
        else TEMPLATE.read_text(encoding="utf-8").rstrip()
    )


def _print(console: Console, path: str, sentence: str) -> None:
    console.print(f"{path}: {sentence}", markup=False, soft_wrap=True)


def _document(file: Path) -> dict[str, Any]:
    """Read a JSON document with an `id`; raises InputError."""
    hint = "A menu is a JSON document; `saycart menu export ID` prints one."
    try:
        document = json.loads(file.read_text(encoding="utf-8"))
    except UnicodeDecodeError:
        raise InputError(f"{file.name} is not a menu: it is not UTF-8 text", hint=hint) from None
    except json.JSONDecodeError as error:
        place = f"{error.msg} at line {error.lineno}, column {error.colno}"
        raise InputError(f"{file.name} is not a menu: not JSON: {place}", hint=hint) from None
    except RecursionError:
        raise InputError(f"{file.name} is not a menu: it is nested too deeply", hint=hint) from None
    if not isinstance(document, dict) or not isinstance(document.get("id"), str):
        raise InputError(f"{file.name} is not a menu: it has no `id`", hint=hint)
    return document
