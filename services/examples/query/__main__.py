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

from infra.settings import settings
from schemas.errors import SaycartError
from services.engines.calls import Calls
from services.engines.completion import Completions
from services.engines.embedded import decode_server
from services.examples.query.running import opened
from services.examples.query.shop import build
from services.examples.query.task import QUERY
from services.masked.call import answer

MOST_SHOWN = 20


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 answered, 2 no server."""
    args = _parser().parse_args(argv)
    here = settings().model_copy(update={"llm_url": args.url, "llm_dialect": args.dialect, "reader": "off"})
    if args.model:
        here = here.model_copy(update={"llm_model": args.model})
    try:
        with decode_server(here) as config:
            calls = Calls(config.llm_url, timeout_s=config.llm_timeout_s, api_key=config.llm_api_key)
            completions = Completions(calls, config.llm_dialect, config.llm_model)
            sql = answer(QUERY.output, QUERY.messages(args.question), engine=completions).value
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
    parser.add_argument("--model", default="", help="a name in the model lock, in place of the default model")
    parser.add_argument("--url", default="", help="a server that runs, in place of the embedded one")
    parser.add_argument("--dialect", default="llama.cpp", choices=["llama.cpp", "vllm"])
    return parser


if __name__ == "__main__":
    sys.exit(main())
