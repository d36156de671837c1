"""`saycart reviews export`: corrections as evaluation rows."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated

import typer

from schemas.shops.access import MAIN_SHOP
from services.cli.client import errors_shown, opened
from services.storage.reviews.store import ReviewStore

app = typer.Typer(no_args_is_help=True)


@app.command()
def export(
    out: Annotated[Path, typer.Option("--out", dir_okay=False, help="gold rows (JSONL)")],
    shop: Annotated[str, typer.Option(help="the shop's id; see `saycart shops list`")] = MAIN_SHOP,
    days: Annotated[int | None, typer.Option(min=1, help="only reviews of the last N days")] = None,
) -> None:
    """Export staff corrections; needs no running stack."""
    from services.learning.evaluation.corrections import gold_rows

    with errors_shown() as console, opened() as box:
        settled = ReviewStore(box.database, shop).settled(within_s=None if days is None else days * 86_400)
        rows = [json.dumps(row, ensure_ascii=False) + "\n" for row in gold_rows(settled)]
        out.write_text("".join(rows), encoding="utf-8")
        console.print(f"{len(rows)} corrected of {len(settled)} settled orders in {out}")
        if settled:
            where = box.settings.recordings_url or box.settings.blobs
            console.print(f"[dim]Recordings are under {where} (for `eval --audio-dir`).[/]")
