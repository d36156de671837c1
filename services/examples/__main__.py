"""Run the examples of the masked call over their gold rows.

    python -m services.examples [NAME...] [--limit N]

Asks the server of `SAYCART_LLM_URL`, or starts the embedded one. Prints a table: rows, valid and exact
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
    """Print the table. Exit codes: 0 every row was asked, 2 an unknown name or no server."""
    parser = argparse.ArgumentParser(prog="services.examples", description="Run the masked examples.")
    known = {example.task.name: example for example in EXAMPLES}
    parser.add_argument("names", nargs="*", help="examples; all by default")
    parser.add_argument("--limit", type=int, help="only so many rows of each")
    args = parser.parse_args()
    if set(args.names) - set(known):
        parser.error(f"known examples are {', '.join(known)}")
    try:
        with decode_server(settings()) as here:
            engine = Completions(
                here.llm_base,
                model=here.llm_model,
                dialect=here.llm_dialect,
                timeout_s=here.llm_timeout_s,
                api_key=here.llm_api_key,
            )
            print("| example | rows | valid | exact | median ms |\n|---|---|---|---|---|")
            for name in args.names or known:
                found = run(known[name], engine, args.limit)
                cells = (name, found.rows, found.valid, found.exact, found.milliseconds)
                print(f"| {' | '.join(map(str, cells))} |", flush=True)
    except (SaycartError, ModelError, SupervisorError) as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
