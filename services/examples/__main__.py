"""Run the examples of the masked call over their gold rows.

    python -m services.examples [NAME...] [--limit N]

Uses the server of `SAYCART_LLM_URL`, or starts the embedded one. Prints a table of rows, valid and exact
answers, and the median milliseconds of an answer.
"""

from __future__ import annotations

import argparse
import sys

from infra.processes.supervisor import SupervisorError
from infra.settings import settings
from infra.weights.lock import ModelError
from schemas.errors import SaycartError
from services.decoding.completion import Completions
from services.decoding.hosts.embedded import decode_server
from services.examples.registered import EXAMPLES
from services.examples.runner import run


def main() -> int:
    """Print the table. Exit codes: 0 success, 2 unknown name or no server."""
    parser = argparse.ArgumentParser(prog="services.examples", description="Run the masked examples.")
    known = {example.task.name: example for example in EXAMPLES}
    parser.add_argument("names", nargs="*", help="examples (default: all)")
    parser.add_argument("--limit", type=int, help="maximum rows of each")
    args = parser.parse_args()
    if set(args.names) - set(known):
        parser.error(f"known examples are {', '.join(known)}")
    try:
        with decode_server(settings()) as config:
            engine = Completions(
                config.llm_base,
                model=config.llm_model,
                dialect=config.llm_dialect,
                timeout_s=config.llm_timeout_s,
                api_key=config.llm_api_key,
            )
            print("| example | rows | valid | exact | median ms |\n|---|---|---|---|---|")
            for name in args.names or known:
                cells = (name, *run(known[name], engine, args.limit))
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
    except (SaycartError, ModelError, SupervisorError) as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
