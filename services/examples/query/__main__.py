"""Asks a question of the shop, and shows the query and its rows.

    python -m services.examples.query "how many orders in May?" [--model FILE] [--url URL [--dialect vllm]]

Starts the embedded server unless `--url` names one.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from pathlib import Path

from rich.console import Console
from rich.table import Table

from schemas.errors import SaycartError
from services.examples.query.running import opened
from services.examples.query.shop import build
from services.examples.query.task import QUERY
from services.examples.serving import add_server, serving
from services.masked.call import answer

MOST_SHOWN = 20


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 answered, 2 no server."""
    args = _parser().parse_args(argv)
    try:
        with serving(args) as engine:
            sql = answer(QUERY.output, QUERY.messages(args.question), engine=engine).value
    except SaycartError as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    _show(sql)
    return 0


def _show(sql: str) -> None:
    console = Console(soft_wrap=True)
    console.print(sql, markup=False, highlight=False)
    with tempfile.TemporaryDirectory(prefix="saycart-query-") as folder:
        path = Path(folder) / "shop.db"
        build(path)
        with opened(path) as connection:
            cursor = connection.execute(sql)
            table = Table(*(column[0] for column in cursor.description))
            found = cursor.fetchall()
    for row in found[:MOST_SHOWN]:
        table.add_row(*map(_cell, row))
    console.print(table)
    if len(found) > MOST_SHOWN:
        console.print(f"and {len(found) - MOST_SHOWN} more")


def _cell(value: object) -> str:
    return f"{value:.2f}" if isinstance(value, float) else str(value)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="services.examples.query", description=(__doc__ or "").partition("\n")[0]
    )
    parser.add_argument("question")
    add_server(parser)
    return parser


if __name__ == "__main__":
    sys.exit(main())
