"""`saycart menu import FILE` and `saycart menu export ID`."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from schemas.errors import InputError
from services.cli.client import answer, api, told

app = typer.Typer(no_args_is_help=True)
Url = Annotated[str | None, typer.Option("--url", help="API to talk to; default: the local stack.")]


@app.command("import")
def import_(
    file: Annotated[Path, typer.Argument(exists=True, dir_okay=False, help="menu document (JSON)")],
    url: Url = None,
) -> None:
    """Import a whole menu; a changed one becomes a new version."""
    with told() as console:
        try:
            document = json.loads(file.read_text())
            menu_id = document["id"]
        except (ValueError, KeyError, TypeError) as error:
            raise InputError(f"{file} is not a menu document: {error!r}") from None
        with api(url) as client:
            response = client.put(f"/v1/menus/{menu_id}", json=document)
            summary = answer(response)
        what = "new version" if response.status_code == 201 else "unchanged, version"
        console.print(f"{menu_id}: {what} {summary['version']}")


@app.command()
def export(menu_id: str, url: Url = None) -> None:
    """Print a menu document, as it can be imported again."""
    with told(), api(url) as client:
        typer.echo(json.dumps(answer(client.get(f"/v1/menus/{menu_id}")), indent=2, ensure_ascii=False))
