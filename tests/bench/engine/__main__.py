"""How much the engine carries: tokens and orders a second by orders in flight, with and without the mask.

    python -m tests.bench.engine --model FOLDER [--python PY] [--device cuda] [--out FILE]

Four questions, each written to OUT when it is answered, and not asked again when it is there:
- load: 1, 8, 32 and 128 orders in flight; each free answer is as long as the masked one of the same order,
  so that the two differ in the mask alone.
- prefix: time to the first token with the cache, and with a cache salt of each request's own, so that no
  prompt finds its prefix there.
- pipeline: our own steps around an engine that answers at once, from what the load gave.
- arrivals: orders that come at random, more and more a second, until the 95th percentile passes 2 s
  (`tests/bench/engine/open_loop.py`); not asked where one order alone takes longer.

On CUDA without weights `--shape 7b` serves a model of that shape with random weights: the figures are then
of speed alone. Without `--url` it starts its own server.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from itertools import cycle, islice
from pathlib import Path
from typing import Any

from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.masks.grammar import build_mask
from services.evaluation.statistics import quantile
from tests.bench.chat import Answer, Chat
from tests.bench.engine.open_loop import LIMITS, RATES, TIMEOUT_S, bear
from tests.bench.engine.pipeline_cost import pipeline_cost
from tests.bench.orders import Order, sample
from tests.bench.results import Results
from tests.bench.vllm_server import SHAPES, about, add_arguments, cpu_seconds, dummy, vllm_server

LEVELS = (1, 8, 32, 128)
LEAST = 6  # orders at levels below this many
PREFIX_ORDERS = 4
# On a CPU 128 whole carts take minutes; tokens a second are seen from fewer, and the carts count as cut off.
CPU_TOKENS = {128: 24}
SEED = 20_260_101

Job = Callable[[Chat], Answer]


def masked(order: Order, **more: Any) -> Job:
    """The product's request: its prompt under the order's mask."""
    mask = build_mask(order.evidence(), order.labels, "bench")
    body = {"max_tokens": mask.longest + 8, "structured_outputs": {"grammar": mask.lark}, **more}
    chat = order.messages()
    return lambda client: client.ask(chat, temperature=0, **body)


def free(order: Order, tokens: int) -> Job:
    """The same prompt without a mask, for exactly so many tokens."""
    chat = order.messages()
    body = {"max_tokens": tokens, "min_tokens": tokens, "ignore_eos": True}
    return lambda client: client.ask(chat, temperature=0, **body)


@dataclass(frozen=True, slots=True)
class Spent:
    """What some jobs gave, in their order, and what it took: wall time, and CPU time of the server alone."""

    answers: list[Answer]
    wall_s: float
    cpu_s: float


def together(chat: Chat, jobs: Sequence[Job], in_flight: int) -> Spent:
    """Every job, so many at a time."""
    before, started = cpu_seconds(chat.port), time.perf_counter()
    with ThreadPoolExecutor(in_flight) as pool:
        answers = list(pool.map(lambda job: job(chat), jobs))
    return Spent(answers, time.perf_counter() - started, cpu_seconds(chat.port) - before)


def rates(spent: Spent) -> dict[str, Any]:
    """Orders and tokens a second, latency in seconds. What was refused or cut off is counted, not hidden."""
    answers, wall = spent.answers, spent.wall_s
    tokens = sum(a.completion_tokens for a in answers)
    seconds = [a.seconds for a in answers]
    return {
        "orders": len(answers),
        "refused": sum(a.finish == "refused" for a in answers),
        "cut_off": sum(a.finish == "length" for a in answers),
        "wall_s": round(wall, 2),
        "tokens_per_order": round(tokens / len(answers), 1),
        "prompt_tokens_per_order": round(sum(a.prompt_tokens for a in answers) / len(answers)),
        "cached_share": round(
            sum(a.cached_tokens for a in answers) / max(1, sum(a.prompt_tokens for a in answers)), 3
        ),
        "tokens_per_s": round(tokens / wall, 1),
        "tokens_per_cpu_s": round(tokens / spent.cpu_s, 1) if spent.cpu_s else None,
        "orders_per_s": round(len(answers) / wall, 3),
        "p50_s": round(quantile(seconds, 0.5), 2),
        "p95_s": round(quantile(seconds, 0.95), 2),
        "load": round(_load(), 1),
    }


def load(chat: Chat, orders: Sequence[Order], level: int, results: Results, most: int | None) -> None:
    """One level, masked and free, of at most so many tokens. Lengths and texts are kept for what follows."""
    some = list(islice(cycle(orders), max(level, LEAST)))
    short = {"max_tokens": most} if most else {}

    def with_mask() -> dict[str, Any]:
        spent = together(chat, [masked(o, **short) for o in some], level)
        whole = {o.id: a.text for o, a in zip(some, spent.answers, strict=True) if a.finish == "stop"}
        return {**rates(spent), "tokens": [a.completion_tokens for a in spent.answers], "texts": whole}

    lengths = results.ask(f"load {level} masked", with_mask)["tokens"]
    jobs = [free(o, n) for o, n in zip(some, lengths, strict=True)]
    results.ask(f"load {level} free", lambda: rates(together(chat, jobs, level)))


def prefix(chat: Chat, orders: Sequence[Order], results: Results) -> None:
    """One order at a time and one token each: what is left is reading the prompt."""
    cached = [masked(o, max_tokens=1) for o in orders]
    alone = [masked(o, max_tokens=1, cache_salt=f"first-{n}") for n, o in enumerate(orders)]
    results.ask("prefix on, first token", lambda: rates(together(chat, cached, 1)))
    results.ask("prefix off, first token", lambda: rates(together(chat, alone, 1)))


def _load() -> float:
    return float(Path("/proc/loadavg").read_text().split()[0])


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--out", type=Path, default=Path("reports/engine.json"))
    parser.add_argument("--url", help="a server that is up already")
    parser.add_argument(
        "--shape", choices=tuple(SHAPES), help="random weights of this shape, for want of real ones"
    )
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    results = Results(args.out)
    orders = sample(10_000)
    random.Random(SEED).shuffle(orders)
    own = vllm_server(
        args.python, args.model, backend="guidance", port=9110, device=args.device, threads=args.threads,
        extra=dummy(args.shape) if args.shape else (),
    )  # fmt: skip
    with nullcontext(args.url) if args.url else own as url:
        chat = Chat(url, args.model.name, timeout_s=900)
        results.ask("about", lambda: about(args, url, args.shape))
        for order in {o.menu.id: o for o in orders}.values():
            masked(order)(chat)  # the fixed part of each prompt is cached, as in service
        for level in LEVELS:
            load(chat, orders, level, results, CPU_TOKENS.get(level) if args.device == "cpu" else None)
        prefix(chat, orders[:PREFIX_ORDERS], results)
        if results.found["load 1 masked"]["p95_s"] <= min(LIMITS):
            decoder = OpenAIDecoder(
                url, dialect="vllm", model=args.model.name, timeout_s=TIMEOUT_S, whole=True
            )
            bear(decoder, orders, results, f"vllm {args.model.name}", RATES, LIMITS)
    texts = {
        key: text for level in LEVELS for key, text in results.found[f"load {level} masked"]["texts"].items()
    }
    results.ask("pipeline", lambda: pipeline_cost(orders, texts))
    return 0


if __name__ == "__main__":
    sys.exit(main())
