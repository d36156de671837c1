"""Examples over their gold rows, under the mask and without it.

    python -m services.examples [NAME...] [--model FILE] [--url URL [--dialect vllm]] [--limit N]
                                [--masked-only] [--out DIR] [--unpack]

The names are those of `services/examples/registered.py`, and `tutor`: the grammar tutor, which asks in turns.
Starts the embedded server unless `--url` names one. Answers are kept under `--out`, a folder a server and
model, and the same command goes on from them; figures are printed, and written there as `figures.json`. With
`--unpack` it goes on from those that the repository keeps of the same server and model.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from infra.settings import REPOSITORY
from schemas.errors import SaycartError
from services.examples.asking import Masked, Method, Prompted
from services.examples.conjugation import tutor_run
from services.examples.registered import EXAMPLES
from services.examples.runner import run, unpack
from services.examples.serving import add_server, folder, serving

KEPT = REPOSITORY / "docs" / "benchmarks" / "examples"


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 all rows were asked, 2 an unknown name, or no server."""
    args = _parser().parse_args(argv)
    known = {example.name: example for example in EXAMPLES}
    names = [*known, tutor_run.NAME]
    if unknown := sorted(set(args.names) - set(names)):
        print(f"There is no example {', '.join(unknown)}; there are {', '.join(names)}.", file=sys.stderr)
        return 2
    try:
        with serving(args) as engine:
            out = folder(args.out, engine)
            if args.unpack:
                _tell(f"{unpack(KEPT / out.name, out)} files of kept answers")
            methods: list[Method] = [Masked(engine, score=args.score)]
            if not args.masked_only:
                methods.append(Prompted(engine.calls, engine.model))
            for name in args.names or names:
                if name == tutor_run.NAME:
                    where = out / tutor_run.BESIDE
                    how = {"limit": args.limit, "masked_only": args.masked_only}
                    found = tutor_run.run(engine, where, tell=_tell, **how)
                else:
                    found = run(known[name], methods, out, limit=args.limit, tell=_tell)
                    (out / name / "figures.json").write_text(json.dumps(found, indent=1) + "\n")
                print(json.dumps({name: found}, indent=1))
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
    parser.add_argument("--masked-only", action="store_true", help="not by the prompt alone as well")
    parser.add_argument("--out", type=Path, default=Path("reports/examples"))
    parser.add_argument("--unpack", action="store_true", help="begin with the answers in docs/benchmarks")
    parser.add_argument(
        "--score", action="store_true", help="keep what the model held of each field unmasked"
    )
    return parser


if __name__ == "__main__":
    sys.exit(main())
