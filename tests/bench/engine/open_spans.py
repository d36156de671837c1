"""Open orders decoded whole, and by their choices alone: tokens, time, and whether the carts are the same.

    python -m tests.bench.engine.open_spans [--minutes 7] [--url URL --dialect vllm --model NAME]

The orders are those of the tuned golden text whose words leave something open, since no model is asked for
the others. Both ways run side by side in one run against one server, at each step on two orders that are half
the set apart: an order that was just decoded one way would find its answer in the server's cache. Without
`--url` the embedded llama.cpp serves. Rows are kept in OUT/DIALECT.jsonl, and a run that was stopped goes
on; the last one tells the whole.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from infra.settings import settings
from schemas.compare import canonical, canonical_draft
from services.checks.tidy import drop_echoes
from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.servers.embedded import decode_server
from services.engines.servers.llama_server import OPENMP_ENV
from services.evaluation.statistics import mcnemar
from tests.bench.ablation.prompts import TUNED
from tests.bench.orders import Order, sample

ALL = 1000
WAYS = ("whole", "choices")
TIMEOUT_S = 300.0
Row = dict[str, Any]


def open_orders() -> list[Order]:
    return [order for order in sample(ALL, TUNED) if not order.evidence().plain]


def plan(orders: list[Order]) -> list[tuple[str, Order]]:
    """Each order both ways, half the set apart, the two ways in turns."""
    half = len(orders) // 2
    return [
        (way, orders[(step + (half if way == "choices" else 0)) % len(orders)])
        for step in range(len(orders))
        for way in WAYS
    ]


def decoded(decoder: OpenAIDecoder, way: str, order: Order) -> Row:
    evidence = order.evidence()
    answer = decoder.decode(evidence)
    draft, _ = drop_echoes(answer.draft, evidence)
    lines = canonical_draft(draft).items()
    return {
        "id": order.id,
        "way": way,
        "seconds": round(answer.seconds, 3),
        "tokens": answer.completion_tokens,
        "requests": answer.requests,
        "prompt": answer.prompt_tokens,
        "cached": answer.cached_tokens,
        "cart": sorted(str([*key[:3], sorted(key[3]), count]) for key, count in lines),
        "heard": [line.heard for line in draft.lines],
        "exact": canonical_draft(draft) == canonical(order.gold),
    }


def median(values: list[float]) -> float:
    ranked = sorted(values)
    return ranked[(len(ranked) - 1) // 2]


def told(rows: list[Row]) -> dict[str, Any]:
    """The figures of the orders that were decoded both ways; there must be one."""
    by_way = {way: {row["id"]: row for row in rows if row["way"] == way} for way in WAYS}
    ids = [order for order in by_way["whole"] if order in by_way["choices"]]
    pairs = [tuple(by_way[way][order] for way in WAYS) for order in ids]
    ways = {}
    for column, way in enumerate(WAYS):
        own = [pair[column] for pair in pairs]
        seconds = sorted(row["seconds"] for row in own)
        ways[way] = {
            "tokens": sum(row["tokens"] for row in own),
            "tokens_p50": median([row["tokens"] for row in own]),
            "requests": sum(row["requests"] for row in own),
            "p50_s": median(seconds),
            "p95_s": seconds[int(0.95 * (len(seconds) - 1))],
            "exact": sum(row["exact"] for row in own),
        }
    lost = sum(whole["exact"] and not choices["exact"] for whole, choices in pairs)
    gained = sum(choices["exact"] and not whole["exact"] for whole, choices in pairs)
    return {
        "orders": len(pairs),
        "same_carts": sum(whole["cart"] == choices["cart"] for whole, choices in pairs),
        "different": [whole["id"] for whole, choices in pairs if whole["cart"] != choices["cart"]],
        "exact_lost": lost,
        "exact_gained": gained,
        "mcnemar_p": mcnemar(lost, gained),
        **ways,
    }


def run(decoders: dict[str, OpenAIDecoder], file: Path, until: float) -> list[Row]:
    """Go on with the plan for as long as there is time; all rows so far."""
    rows = [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []
    done = {(row["way"], row["id"]) for row in rows}
    orders = open_orders()
    left = [(way, order) for way, order in plan(orders) if (way, order.id) not in done]
    for menu in {order.menu.id: order for _, order in left}.values():
        decoders["whole"].warm(menu.evidence())
    with file.open("a") as out:
        for way, order in left:
            if time.monotonic() > until:
                print(f"{len(rows)} of {2 * len(orders)} done; run it again to go on", flush=True)
                break
            rows.append(decoded(decoders[way], way, order))
            out.write(json.dumps(rows[-1]) + "\n")
            out.flush()
    return rows


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--out", type=Path, default=Path("reports/open-spans"))
    parser.add_argument("--minutes", type=float, default=60.0, help="stop after so long, to go on later")
    parser.add_argument("--url", help="of a server that runs already")
    parser.add_argument("--dialect", choices=("llama.cpp", "vllm"), default="llama.cpp")
    parser.add_argument("--model", default=settings().llm_model)
    args = parser.parse_args()
    until = time.monotonic() + 60 * args.minutes
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    os.environ.update(OPENMP_ENV)
    args.out.mkdir(parents=True, exist_ok=True)
    with ExitStack() as stack:
        wanted = settings().model_copy(update={"llm_url": args.url or ""})
        here = stack.enter_context(decode_server(wanted))
        decoders = {
            way: OpenAIDecoder(
                here.llm_url,
                dialect=args.dialect,
                model=args.model,
                timeout_s=TIMEOUT_S,
                api_key=here.llm_api_key,
                whole=way == "whole",
            )
            for way in WAYS
        }
        decoders["whole"].probe()
        rows = run(decoders, args.out / f"{args.dialect}.jsonl", until)
    if len(rows) < 2 * len(open_orders()):
        return 0
    figures = {"dialect": args.dialect, "model": args.model, **told(rows)}
    (args.out / f"{args.dialect}.json").write_text(json.dumps(figures, indent=1) + "\n")
    print(json.dumps(figures, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
