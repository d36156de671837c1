"""`saycart-masked check our_tasks:Ticket`: does the mask allow what the model does, and no more?

Valid texts, near ones and random ones of the mask are walked through llguidance's matcher, and read by the
model, strictly and without further fields. Exit code 1: they disagree, or no mask holds the model, or the
engine's answer is not one.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import sys
from collections.abc import Callable
from decimal import Decimal
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
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
"""Texts drawn from the mask at random."""
Judge = Callable[[str], str]
"""Returns ALLOWED or RULES for an invalid text, after what the mask does if it allows it; else nothing."""


def check(output: OutputType[Any], judge: Judge, tokens: LLTokenizer = BYTES) -> dict[tuple[str, str], str]:
    """Return the shortest text of each disagreement: what it is, and what and where was tried."""
    schema = output.schema or {}
    cases = samples(schema, schema.get("$defs", {}))
    whole = cases[0].text
    cases += [Case(text, ": another end", False) for text in (whole + "?", whole * 2, whole[:-1])]
    drawn = islice(output.mask.texts(random.Random(1)), DRAWN)  # noqa: S311
    cases += [Case(text.decode(), ": at random") for text in drawn]
    allows, found = output.mask.walker(tokens), dict[tuple[str, str], str]()
    for text, what, plain in cases:
        wrong = judge(text)
        if allows(text) == bool(wrong) and (wrong or plain):
            key = wrong or REFUSED, what
            found[key] = min(text, found.get(key, text), key=len)
    return found


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


def by_schemas(*schemas: dict[str, Any]) -> Judge:
    """Judge by JSON Schemas, all of them, with exact fractions."""
    from jsonschema import Draft202012Validator as Form

    exact = partial(json.loads, parse_float=Decimal)
    forms = [Form(exact(json.dumps(one)), format_checker=Form.FORMAT_CHECKER) for one in schemas]

    def judge(text: str) -> str:
        try:
            return "" if all(form.is_valid(exact(text)) for form in forms) else ALLOWED
        except ValueError:
            return ALLOWED

    return judge


def loaded(target: str) -> tuple[OutputType[Any], Judge]:
    """Return what MODULE:MODEL or a JSON Schema's file names; raises UnmaskableModel."""
    if target.endswith(".json"):
        schema = json.loads(Path(target).read_text())
        output = OutputType.by_schema(target, schema)
        return output, by_schemas(schema, output.schema or {})
    sys.path.insert(0, os.getcwd())
    module, _, name = target.partition(":")
    model = getattr(import_module(module), name)
    return OutputType.of(model), by_model(model)


def main() -> None:
    """Run the command."""
    parser = argparse.ArgumentParser("saycart-masked", description="Masks of Pydantic models.")
    command = parser.add_subparsers(required=True).add_parser("check", help="compare a mask with its model")
    command.add_argument("target", metavar="MODULE:MODEL", help="or a JSON Schema's file.json")
    command.add_argument("--tokenizer", help="tokenizer.json of a model, to walk by its tokens")
    command.add_argument("--url", help="of a running engine, for one live call")
    command.add_argument("--model", default="", help="its model's name")
    command.add_argument("--dialect", choices=("llama.cpp", "vllm"), default="llama.cpp")
    given = parser.parse_args()
    try:
        output, judge = loaded(given.target)
        tokens = LLTokenizer(given.tokenizer) if given.tokenizer else BYTES
        found = check(output, judge, tokens)
        if given.url:
            engine = Engine(given.url, model=given.model, dialect=given.dialect)
            prompt = f"Write JSON of this schema: {json.dumps(output.schema)}"
            text = masked(output, prompt, engine=engine).completed.text
            print(f"The engine answered {text}")
            found |= {(wrong, ": the engine's answer"): text for wrong in [judge(text)] if wrong}
    except MaskedCallError as error:
        sys.exit(f"{error.code}: {error} {error.quoted}")
    except (ImportError, AttributeError, ValueError, OSError) as error:
        parser.error(f"{error}. Name MODULE:MODEL or files that are there; a schema's needs jsonschema")
    for (how, what), text in sorted(found.items()):
        print(f"{how}: /{what.lstrip('/')} {text:.200}")
    print(f"{len(found)} differences")
    sys.exit(int(any(how != RULES for how, _ in found)))
