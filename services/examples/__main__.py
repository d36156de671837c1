"""Examples over their gold rows, under the mask and without it.

    python -m services.examples [NAME...] [--model FILE] [--url URL [--dialect vllm]] [--limit N] [--out DIR]

Starts the embedded server unless `--url` names one. Answers are kept under `--out`, a folder a model, and the
same command goes on from them; figures are printed, and written there as `figures.json`.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from schemas.errors import SaycartError
from services.examples.asking import Masked, Prompted
from services.examples.registered import EXAMPLES
from services.examples.runner import run
from services.examples.serving import add_server, serving


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 all rows were asked, 2 an unknown name, or no server."""
    args = _parser().parse_args(argv)
    known = {example.name: example for example in EXAMPLES}
    if unknown := sorted(set(args.names) - known.keys()):
        print(f"There is no example {', '.join(unknown)}; there are {', '.join(known)}.", file=sys.stderr)
        return 2
    found: dict[str, Any] = {}
    try:
        with serving(args) as engine:
            out = args.out / Path(engine.model).stem
            methods = (Masked(engine, score=args.score), Prompted(engine.calls, engine.model))
            for name in args.names or known:
                found[name] = run(known[name], methods, out, limit=args.limit, tell=_tell)
                print(json.dumps({name: found[name]}, indent=1))
                (out / name / "figures.json").write_text(json.dumps(found[name], indent=1) + "\n")
    except SaycartError as error:
        print(f"{error.detail} {error.hint}", file=sys.stderr)
        return 2
    return 0


def _tell(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="services.examples", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", help="examples; all by default")
    add_server(parser)
    parser.add_argument("--limit", type=int, help="only so many rows of each")
    parser.add_argument("--out", type=Path, default=Path("reports/examples"))
    parser.add_argument(
        "--score", action="store_true", help="keep what the model held of each field unmasked"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
