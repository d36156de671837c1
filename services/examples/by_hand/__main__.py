"""Decode one answer under the naive mask, and show each step.

python -m services.examples.by_hand "When did men first walk on the moon?"
python -m services.examples.by_hand "A table for two, please." --schema schema.json
python -m services.examples.by_hand "Is water wet?" --pattern "yes|no" --temperature 1 --top-p 0.9
python -m services.examples.by_hand --table --pattern "(Mon|Tues|Wednes)day"
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from infra.processes.supervisor import ChildFailed
from infra.weights.models import ModelError
from schemas.errors import InputError, SaycartError
from services.examples.by_hand import show
from services.examples.by_hand.automaton import Automaton, automaton
from services.examples.by_hand.decode import Step, decode
from services.examples.by_hand.json_machine import JsonMachine
from services.examples.by_hand.json_schema import read_schema
from services.examples.by_hand.masks import ByteMachine, ByteMask
from services.examples.by_hand.model import served, small_model
from services.examples.by_hand.steps import ORDER
from services.examples.by_hand.tokens import read_tokens

DATE = "[0-9]{4}-(0[1-9]|1[0-2])-(0[1-9]|[12][0-9]|3[01])"
LIMIT = 200


def main(argv: list[str] | None = None) -> int:
    """Exit codes: 0 a whole answer, 1 cut off by the token limit, 2 wrong use or no model."""
    args = _parser().parse_args(argv)
    try:
        return _run(args)
    except (SaycartError, ModelError) as error:
        print(f"{error.detail}\n{error.hint}", file=sys.stderr)
    except ChildFailed as error:
        print(f"The model's server did not start: {error}", file=sys.stderr)
    return 2


def _run(args: argparse.Namespace) -> int:
    machine = _machine(args)
    tokens = read_tokens(small_model())
    if args.table:
        if not isinstance(machine, Automaton):
            raise InputError(
                "A schema is read by a stack, which has no table of states", hint="Give a --pattern."
            )
        print(*show.states(machine), "", sep="\n")
        print(*show.survivors(machine, args.state, tokens), sep="\n")
        return 0
    mask = ByteMask(machine, tokens)
    taken: list[Step] = []
    with served(len(tokens.pieces)) as model:
        steps = decode(
            model,
            model.prompt(("user", args.text)),
            mask,
            tokens,
            temperature=args.temperature,
            share=args.top_p,
            order=args.order.split(","),
            seed=args.seed,
            limit=LIMIT,
        )
        for line in show.decoded((taken.append(step) or step for step in steps), tokens):  # type: ignore[func-returns-value]
            print(line, flush=True)
    print(f"\n{tokens.text([step.taken for step in taken])}")
    return 0 if taken[-1].taken == tokens.end else 1


def _machine(args: argparse.Namespace) -> ByteMachine[Any]:
    if not args.schema:
        return automaton(args.pattern)
    try:
        schema = json.loads(args.schema.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(f"No schema could be read at {args.schema}: {error}") from None
    return JsonMachine(read_schema(schema))


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m services.examples.by_hand",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("text", nargs="?", default="When did men first walk on the moon?")
    parser.add_argument(
        "--pattern", default=DATE, help="regular expression of the answer; a date if not given"
    )
    parser.add_argument("--schema", type=Path, help="JSON Schema of the answer, a file")
    parser.add_argument("--temperature", type=float, default=0.0)
    parser.add_argument("--top-p", type=float, default=1.0)
    parser.add_argument(
        "--order", default=",".join(ORDER), help="the steps, in any order; mask first is right"
    )
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--table", action="store_true", help="show the pattern's automaton; ask no model")
    parser.add_argument("--state", type=int, default=0, help="whose tokens --table shows")
    return parser


if __name__ == "__main__":
    raise SystemExit(main())
