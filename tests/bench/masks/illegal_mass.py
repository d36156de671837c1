"""How much a model wants to leave the form, by the number of examples that its prompt shows.

    python -m tests.bench.masks.illegal_mass [--orders 16] [--examples 0,1,2,4] [--minutes 10]

Each order is decoded under the cart's JSON Schema (any item of the menu, so that form alone is held), and at
each token the model's own probabilities of the likeliest `TOP` are told. Those outside the mask are illegal;
what is not among the likeliest is known as a sum, so the mass on illegal tokens lies between two bounds. From
it follows how likely an answer drawn at temperature 1 would have stayed in the form, had it gone this way.
Our masks want an answer without spaces, where any reader of JSON takes them; so the same tokens are held
against both, and the difference is the mass on spaces alone. Beside it the same prompt is asked without a
mask, greedily and at temperature 1, and what is no cart is counted.

Answers are kept as they come, and the same command goes on from them.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any
from zlib import crc32

import numpy as np
from llguidance import LLMatcher, LLTokenizer

from infra.observability.json_lines import kept_lines
from infra.settings import settings
from infra.weights.models import resolve
from services.engines.masks.vocabulary import read_vocabulary
from services.engines.ports import Message
from services.engines.servers.embedded import decode_server
from services.evaluation.statistics import wilson
from tests.bench.chat import Answer, Chat
from tests.bench.orders import Order, sample
from tests.bench.published import publish
from tests.bench.techniques.methods import MAX_TOKENS
from tests.bench.techniques.reading import read
from tests.bench.techniques.wire import wire_schema

ROOT = Path(__file__).resolve().parents[3]
MASKS = ROOT / "docs" / "benchmarks" / "masks"
TOP = 100
EXAMPLE_TURNS = 2  # a customer and a cart
Row = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Step:
    """One token of an answer: the mass on illegal tokens is at least `low` and at most `high`; `overruled`
    where the model's own first choice was one of them."""

    low: float
    high: float
    overruled: bool


def with_examples(order: Order, count: int) -> list[Message]:
    """The product's messages with `count` of their examples, the first ones."""
    system, *turns, own = order.messages()
    return [system, *turns[: EXAMPLE_TURNS * count], own]


def grammar(order: Order, *, spaces: bool) -> str:
    """The form of a cart of the order's menu, with spaces wherever JSON has them, or with none."""
    schema = wire_schema(order.menu) | {"x-guidance": {"whitespace_flexible": spaces}}
    return f"%llguidance {{}}\nstart: %json {json.dumps(schema)}\n"


def steps(content: Sequence[dict[str, Any]], tokens: LLTokenizer, lark: str) -> list[Step]:
    """A step for each token of a masked answer, from the server's `logprobs`, which are of before the mask.

    Raises:
        ValueError: a token is outside the mask: this was not the mask that held it.
    """
    matcher = LLMatcher(tokens, lark)
    found = []
    for one in content:
        allowed = np.unpackbits(np.frombuffer(matcher.compute_bitmask(), np.uint8), bitorder="little")
        likeliest = [(top["id"], math.exp(top["logprob"])) for top in one["top_logprobs"]]
        illegal = sum(chance for token, chance in likeliest if not allowed[token])
        unknown = max(0.0, 1.0 - sum(chance for _, chance in likeliest))
        found.append(Step(illegal, min(1.0, illegal + unknown), not allowed[likeliest[0][0]]))
        if not allowed[one["id"]] or not matcher.consume_token(one["id"]):
            raise ValueError(f"{one['token']!r} is outside the mask")
    return found


def told(found: Sequence[Step]) -> Row:
    """What is kept of one answer's steps."""
    return {
        "tokens": len(found),
        "mass_low": fmean(step.low for step in found),
        "mass_high": fmean(step.high for step in found),
        "overruled": sum(step.overruled for step in found),
        "stays_low": math.prod(1 - step.high for step in found),
        "stays_high": math.prod(1 - step.low for step in found),
    }


def measured(chat: Chat, order: Order, count: int, tokens: LLTokenizer) -> Row:
    """One order with so many examples: masked with probabilities, then free, greedily and drawn."""
    messages, lark = with_examples(order, count), grammar(order, spaces=False)
    body = {"max_tokens": MAX_TOKENS, "seed": crc32(order.id.encode())}
    scored = {"grammar": lark, "logprobs": True, "top_logprobs": TOP, "temperature": 0}
    document = chat.document(messages, **body, **scored)
    content = [one for one in document["choices"][0]["logprobs"]["content"] if one["top_logprobs"]]
    free = [chat.ask(messages, **body, temperature=heat) for heat in (0, 1.0)]
    return {
        "id": order.id,
        "examples": count,
        "with_spaces": told(steps(content, tokens, grammar(order, spaces=True))),
        "without_spaces": told(steps(content, tokens, lark)),
        "failures": [_failure(answer, order) for answer in free],
        "texts": [document["choices"][0]["message"]["content"], *(answer.text for answer in free)],
    }


def _failure(answer: Answer, order: Order) -> str:
    return read(answer, order.labels, order.said).failure or ""


def summary(rows: Sequence[Row]) -> dict[str, Row]:
    """By number of examples: means over orders, and failures without a mask with their 95% intervals."""
    found = {}
    for count in sorted({row["examples"] for row in rows}):
        own = [row for row in rows if row["examples"] == count]
        greedy, drawn = (sum(bool(row["failures"][n]) for row in own) for n in (0, 1))
        found[str(count)] = {
            "orders": len(own),
            **{form: _means([row[form] for row in own]) for form in ("with_spaces", "without_spaces")},
            "no_cart_greedy": [greedy, *wilson(greedy, len(own))],
            "no_cart_drawn": [drawn, *wilson(drawn, len(own))],
        }
    return found


def _means(own: Sequence[Row]) -> Row:
    tokens = sum(row["tokens"] for row in own)
    return {
        "tokens": tokens,
        "illegal_mass": [round(fmean(row[key] for row in own), 4) for key in ("mass_low", "mass_high")],
        "overruled_share": round(sum(row["overruled"] for row in own) / tokens, 4),
        "stays_in_form": [round(fmean(row[key] for row in own), 4) for key in ("stays_low", "stays_high")],
    }


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=16)
    parser.add_argument("--examples", default="0,1,2,4")
    parser.add_argument("--minutes", type=float, default=60.0)
    parser.add_argument("--model", default="qwen2.5-coder-0.5b-instruct-q4_k_m.gguf")
    parser.add_argument("--work", type=Path, default=ROOT / "reports" / "illegal-mass")
    parser.add_argument("--out", type=Path, default=MASKS / "illegal-mass.json")
    args = parser.parse_args()
    args.work.mkdir(parents=True, exist_ok=True)
    file = args.work / f"{Path(args.model).stem}.jsonl"
    done = {(row["id"], row["examples"]) for row in kept_lines(file)}
    here = settings().model_copy(update={"llm_url": "", "llm_model": args.model, "reader": "off"})
    tokens = read_vocabulary(Path(resolve(args.model, here.models_dir))).tokenizer()
    until = time.monotonic() + 60 * args.minutes
    with decode_server(here) as config, file.open("a", encoding="utf-8") as out:
        chat = Chat(config.llm_url, args.model, key=config.llm_api_key)
        for order in sample(args.orders):
            for count in map(int, args.examples.split(",")):
                if (order.id, count) not in done and time.monotonic() < until:
                    row = measured(chat, order, count, tokens)
                    out.write(json.dumps(row, ensure_ascii=False) + "\n")
                    out.flush()
    publish(args.out, Path(args.model).stem, summary(kept_lines(file)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
