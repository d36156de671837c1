"""`saycart-masked check our_tasks:Ticket`: compare what the mask allows with what the model accepts.

Valid, nearly valid and random texts are fed to llguidance's matcher and to the model, in strict mode without
extra fields. Exit code 1: they disagree, the model can't be masked, or the engine's answer is invalid.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable
from importlib import import_module
from itertools import islice
from typing import Any

from llguidance import LLTokenizer
from pydantic import BaseModel, ValidationError

from .call import masked
from .engine import Engine
from .errors import MaskedCallError
from .output import BYTES, OutputType
from .samples import Case, samples

REFUSED = "refused by the mask, and valid"
ALLOWED = "allowed by the mask, and invalid"
RULES = "allowed by the mask, and refused by the model's own validators"
DRAWN = 200
"""The number of random texts from the mask."""
Judge = Callable[[str], str]
"""Returns an empty string for a valid text, otherwise ALLOWED or RULES: the disagreement if the mask allows
it."""


def check(output: OutputType[Any], judge: Judge, tokens: LLTokenizer = BYTES) -> dict[tuple[str, str], str]:
    """Return the shortest text of each disagreement, by its kind and what was tried where."""
    schema = output.schema or {}
    cases = samples(schema, schema.get("$defs", {}))
    valid = cases[0].text
    cases += [Case(text, ": another end", False) for text in (valid + "?", valid * 2, valid[:-1])]
    drawn = islice(output.mask.texts(random.Random(1)), DRAWN)  # noqa: S311
    cases += [Case(text.decode(), ": at random") for text in drawn]
    allows, differences = output.mask.walker(tokens), dict[tuple[str, str], str]()
    for text, what, plain in cases:
        invalid = judge(text)
        if allows(text) == bool(invalid) and (invalid or plain):
            key = invalid or REFUSED, what
            differences[key] = min(text, differences.get(key, text), key=len)
    return differences


def by_model(model: type[BaseModel]) -> Judge:
    """Judge by a Pydantic model."""

    def judge(text: str) -> str:
        try:
            model.model_validate_json(text, strict=True, extra="forbid")
        except ValidationError as error:
            kinds = {one["type"] for one in error.errors()}
            return RULES if kinds <= {"value_error", "assertion_error"} else ALLOWED
        return ""

    return judge


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("saycart-masked", description="Masks of Pydantic models.")
    command = parser.add_subparsers(required=True).add_parser("check", help="compare a mask with its model")
    command.add_argument("target", metavar="MODULE:MODEL")
    command.add_argument("--tokenizer", help="tokenizer.json of a model, to test with its tokens")
    command.add_argument("--url", help="a running engine, for one live call")
    command.add_argument("--model", default="", help="the name of its model")
    command.add_argument("--dialect", choices=("llama.cpp", "vllm"), default="llama.cpp")
    args = parser.parse_args()
    module, _, name = args.target.partition(":")
    sys.path.insert(0, os.getcwd())
    try:
        model = getattr(import_module(module), name)
        output, judge = OutputType.of(model), by_model(model)
        tokens = LLTokenizer(args.tokenizer) if args.tokenizer else BYTES
        differences = check(output, judge, tokens)
        if args.url:
            engine = Engine(args.url, model=args.model, dialect=args.dialect)
            prompt = f"Write JSON of this schema: {json.dumps(output.schema)}"
            text = masked(output, prompt, engine=engine).completed.text
            print(f"The engine answered {text}")
            if invalid := judge(text):
                differences[invalid, ": the engine's answer"] = text
    except MaskedCallError as error:
        sys.exit(f"{error.code}: {error} {error.quoted}")
    except (ImportError, AttributeError, ValueError, OSError) as error:
        parser.error(f"{error}. Pass MODULE:MODEL")
    for (kind, what), text in sorted(differences.items()):
        print(f"{kind}: /{what.lstrip('/')} {text:.200}")
    print(f"{len(differences)} differences")
    sys.exit(int(any(kind != RULES for kind, _ in differences)))
