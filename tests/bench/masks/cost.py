"""What a mask costs on llama.cpp: the same orders decoded free and under each way that its server has.

    python -m tests.bench.masks.cost [--orders 6] [--minutes M] [--out FILE] [--write FILE]

One embedded server, one request at a time, one menu, all ways in turns. At each step every way gets an order
of its own, far from the others': what was just decoded one way would be found in the server's cache. Before
that, a schema with one enum of 5,000 names. Rows, with the answers, are kept in OUT, and a run that was
stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import sys
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx

from infra.observability.json_lines import kept_lines
from infra.settings import settings
from services.checks.one_cart import one_cart
from services.engines.masks.grammar import build_mask
from services.engines.servers.embedded import decode_server
from services.engines.servers.llama_server import OPENMP_ENV
from tests.bench.ablation.prompts import TUNED
from tests.bench.chat import Answer, Chat
from tests.bench.orders import Order, sample
from tests.bench.schemas.cases import Schema, checked, families, record
from tests.bench.schemas.llama_samplers import gbnf_of
from tests.bench.techniques.reading import exact, read
from tests.bench.techniques.wire import wire_schema

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
MAX_TOKENS = 300
PICKS = 6
Body = dict[str, Any]
Row = dict[str, Any]
# From the first brace on: what stands before it is free.
LAZY: Body = {"grammar_lazy": True, "grammar_triggers": [{"type": 1, "value": "{"}]}


def llguidance(schema: Schema) -> Body:
    compact = {**schema, "x-guidance": {"whitespace_flexible": False}}
    return {"grammar": f"%llguidance {{}}\nstart: %json {json.dumps(compact)}\n"}


def gbnf(schema: Schema) -> Body:
    return {"grammar": gbnf_of(schema).decode()}


def tools(schema: Schema) -> Body:
    function = {"name": "answer", "description": "Gives the answer.", "parameters": schema}
    return {"tools": [{"type": "function", "function": function}], "tool_choice": "required"}


def favoured(text: str, url: str, key: str, eos: str = "<|im_end|>") -> Body:
    """The most that `logit_bias` can say of form: only tokens that occur in `text`, in any order."""
    tokens: set[int] = set()
    for part in (text, eos):
        asked = {"content": part, "parse_special": True}
        header = {"Authorization": f"Bearer {key}"}
        answer = httpx.post(f"{url}/tokenize", json=asked, headers=header, trust_env=False)
        tokens |= set(answer.raise_for_status().json()["tokens"])
    return {"logit_bias": [[token, 100] for token in sorted(tokens)]}


def settled(count: int) -> list[tuple[Order, str]]:
    """Orders whose words leave one cart, at even steps, and that cart as a model would write it."""
    found: list[tuple[Order, str]] = []
    for order in sample(1000, TUNED[:1]):
        cart = one_cart(order.evidence())
        if cart is None:
            continue
        text = order.labels.to_wire(cart)
        if build_mask(order.evidence(), order.labels, "bench").accepts(text):
            found.append((order, text))
    return found[:: max(1, len(found) // count)][:count]


def ways(url: str, key: str) -> dict[str, Callable[[Order], Body]]:
    schemas: dict[str, Schema] = {}
    carts = " ".join(text for _, text in settled(100))

    def schema(order: Order) -> Schema:
        return schemas.setdefault(order.menu.id, wire_schema(order.menu))

    def bias(order: Order) -> Body:
        # The tokens of the schema's names, of other carts, and of what was said.
        return favoured(f"{_written(schema(order))} {carts} {order.said}", url, key)

    return {
        "free": lambda order: {},
        "llguidance, evidence": lambda order: {
            "grammar": build_mask(order.evidence(), order.labels, "b").lark
        },
        "llguidance, schema": lambda order: llguidance(schema(order)),
        "gbnf, schema": lambda order: gbnf(schema(order)),
        "gbnf, schema, lazy": lambda order: {**gbnf(schema(order)), **LAZY},
        "json_schema field": lambda order: {"json_schema": schema(order)},
        "logit_bias": bias,
        "tools": lambda order: tools(schema(order)),
    }


def _written(schema: Schema) -> str:
    """Every value and name of the schema as JSON would write it, and digits, for `favoured`."""
    words: list[Any] = [*range(10), None, True, False]
    stack: list[Any] = [schema]
    while stack:
        node = stack.pop()
        if isinstance(node, dict):
            words += [*node.get("enum", []), *([node["const"]] if "const" in node else [])]
            words += list(node.get("properties", {}))
            stack += list(node.values())
        elif isinstance(node, list):
            stack += node
    each = [json.dumps(word) for word in words]
    return " ".join(
        [*each, *(f"{{{word}:" for word in each), *(f",{word}," for word in each), "[{[]}]}", "}]}"]
    )


def row(way: str, name: str, answer: Answer) -> Row:
    """Milliseconds; `beside` is what is neither reading the prompt nor writing: compiling, and HTTP."""
    prompt, written = (answer.timings.get(key, 0.0) for key in ("prompt_ms", "predicted_ms"))
    return {
        "way": way,
        "id": name,
        "ms": round(answer.seconds * 1e3, 1),
        "prompt_ms": round(prompt, 1),
        "written_ms": round(written, 1),
        "beside_ms": round(answer.seconds * 1e3 - prompt - written, 1),
        "prompt_tokens": answer.prompt_tokens,
        "tokens": answer.completion_tokens,
        "finish": answer.finish,
        "text": answer.text,
    }


def decoded(chat: Chat, way: str, body: Body, order: Order) -> Row:
    answer = chat.ask(order.messages(), temperature=0, max_tokens=MAX_TOKENS, cache_prompt=True, **body)
    if answer.finish == "tool_calls":
        answer = replace(answer, finish="stop")
    reading = read(answer, order.labels, order.said)
    return {**row(way, order.id, answer), "failure": reading.failure, "exact": exact(reading, order.gold)}


def picked(chat: Chat, way: str, body: Body, known: list[str], number: int) -> Row:
    """One of the 5,000 names, told in the prompt with a letter wrong."""
    name = known[number * len(known) // PICKS]
    asked = f'Answer with JSON like {{"name":"..."}} and nothing else. Which name is nearest to "{name}r"?'
    answer = chat.ask([{"role": "user", "content": asked}], temperature=0, max_tokens=40, **body)
    try:
        right = json.loads(answer.text)["name"] in known
    except (ValueError, KeyError, TypeError):
        right = False
    return {**row(f"5000: {way}", name, answer), "failure": None if right else "not in the list"}


def many_names() -> tuple[list[str], Schema]:
    """5,000 names, and a schema whose one member is any of them."""
    (family,) = (family for family in families() if family.name == "big_enum")
    known: list[str] = checked(family, 9).schema["properties"]["v"]["enum"]
    return known, record({"name": {"type": "string", "enum": known}})


def middle(values: list[float]) -> float:
    return round(statistics.median(values), 1) if values else 0.0


def told(rows: list[Row]) -> dict[str, Any]:
    """Figures by way; orders which every way answered alone, so that the same orders are compared."""
    found: dict[str, Any] = {}
    for way in dict.fromkeys(r["way"] for r in rows):
        own = [r for r in rows if r["way"] == way]
        written = [r for r in own if r["tokens"]]
        found[way] = {
            "orders": len(own),
            "tokens_p50": middle([r["tokens"] for r in own]),
            "ms_a_token_p50": middle([r["written_ms"] / r["tokens"] for r in written]),
            "ms_an_order_p50": middle([r["ms"] for r in own]),
            "ms_beside_p50": middle([r["beside_ms"] for r in own]),
            "ms_beside_most": max(r["beside_ms"] for r in own),
            "prompt_tokens_p50": middle([r["prompt_tokens"] for r in own]),
            "failures": dict(Counter(r["failure"] for r in own if r["failure"])),
            "fenced": sum("```" in r["text"] for r in own),
            **({"exact": sum(r["exact"] for r in own)} if "exact" in own[0] else {}),
        }
    return found


def run(url: str, key: str, orders: list[Order], file: Path, until: float) -> tuple[list[Row], bool]:
    """All rows so far, and whether that is all."""
    rows = kept_lines(file)
    done = {(r["way"], r["id"]) for r in rows}
    chat, each = Chat(url, MODEL, key=key), ways(url, key)
    plan: list[tuple[str, str, Callable[[], Row]]] = []
    known, schema = many_names()
    bodies: dict[str, Body] = {
        "free": {},
        "llguidance": llguidance(schema),
        "gbnf": gbnf(schema),
        "gbnf, lazy": {**gbnf(schema), **LAZY},
    }
    for number in range(PICKS):
        for way, made in bodies.items():
            name = known[number * len(known) // PICKS]
            plan.append((f"5000: {way}", name, lambda w=way, b=made, n=number: picked(chat, w, b, known, n)))
    apart = max(1, len(orders) // len(each))
    for step in range(len(orders)):
        for place, (way, body) in enumerate(each.items()):
            order = orders[(step + place * apart) % len(orders)]
            plan.append((way, order.id, lambda w=way, b=body, o=order: decoded(chat, w, b(o), o)))
    with file.open("a") as out:
        for way, name, ask in plan:
            if (way, name) in done:
                continue
            if time.monotonic() > until:
                return rows, False
            rows.append(ask())
            out.write(json.dumps(rows[-1], ensure_ascii=False) + "\n")
            out.flush()
    return rows, True


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--orders", type=int, default=6)
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so long, to go on later")
    parser.add_argument("--out", type=Path, default=Path("reports/mask-cost.jsonl"))
    parser.add_argument("--write", type=Path, default=Path("docs/benchmarks/masks/mask-cost.json"))
    args = parser.parse_args()
    until = time.monotonic() + 60 * args.minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    os.environ.update(OPENMP_ENV)
    args.out.parent.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        config = settings().model_copy(update={"llm_model": MODEL, "llm_url": ""})
        here = stack.enter_context(decode_server(config))
        rows, whole = run(here.llm_url, here.llm_api_key, sample(args.orders, TUNED[:1]), args.out, until)
    figures = {"model": MODEL, "whole": whole, "ways": told(rows), "alone": None, "rows": rows}
    if args.write.exists():
        figures["alone"] = json.loads(args.write.read_text()).get("alone")
    args.write.write_text(json.dumps(figures, indent=1, ensure_ascii=False) + "\n")
    print(json.dumps(figures["ways"], indent=1))
    if not whole:
        print(f"{len(rows)} rows so far; run it again to go on")
    return 0


if __name__ == "__main__":
    sys.exit(main())
