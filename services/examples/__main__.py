"""Run the examples of the masked call over their gold rows.

    python -m services.examples [NAME...] [--model FILE] [--url URL] [--limit N]

Starts the embedded server unless `--url` names one. Prints a table: rows, valid and exact answers, and the
median milliseconds of an answer.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager

from infra.processes.supervisor import SupervisorError
from infra.settings import addresses, settings
from infra.weights.lock import ModelError
from schemas.errors import SaycartError
from services.decoding.calls import Calls
from services.decoding.completion import Completions
from services.decoding.hosts.embedded import decode_server
from services.examples.registered import EXAMPLES
from services.examples.runner import figures, run

HEAD = "| example | rows | valid | exact | median ms |\n|---|---|---|---|---|"


def main(argv: list[str] | None = None) -> int:
    """Print the table. Exit codes: 0 every row was asked, 2 an unknown name or no server."""
    args = _parser().parse_args(argv)
    known = {example.name: example for example in EXAMPLES}
    if unknown := sorted(set(args.names) - set(known)):
        print(f"Unknown example {', '.join(unknown)}; known are {', '.join(known)}.", file=sys.stderr)
        return 2
    try:
        with _server(args) as engine:
            print(HEAD)
            for name in args.names or known:
                found = figures(run(known[name], engine, args.limit))
                cells = (name, found.rows, found.valid, found.exact, found.milliseconds)
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
    except (SaycartError, ModelError, SupervisorError) as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    return 0


@contextmanager
def _server(args: argparse.Namespace) -> Iterator[Completions]:
    """Yield the server of `--url`, or an embedded one that ends with the run. No orders are read."""
    config = settings()
    named = {"llm_url": args.url, "llm_model": args.model or config.llm_model}
    with decode_server(config.model_copy(update=named)) as here:
        calls = Calls(addresses(here.llm_url)[0], timeout_s=here.llm_timeout_s, api_key=here.llm_api_key)
        yield Completions(calls, here.llm_dialect, here.llm_model)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.examples", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="examples; all by default")
    parser.add_argument("--model", default="", help="a name in the model lock, in place of the default")
    parser.add_argument(
        "--url", default="", help="a running server (vLLM: vllm+http://...), in place of the embedded one"
    )
    parser.add_argument("--limit", type=int, help="only so many rows of each")
    return parser


if __name__ == "__main__":
    sys.exit(main())
