"""Run the techniques side by side on the same orders, model and machine.

    python -m tests.bench.techniques --model FOLDER [--python PY] [--out FOLDER] [--only NAME,NAME]

One server a backend, all up at once and one asked at a time: a block of orders goes through every technique
before the next block, so that what else the machine does strikes all alike. Each order is written to
`OUT/NAME-TEMPERATURE.jsonl` when it is done, and one that is there is not asked again. `--url` names a
server that is up already. Afterwards: `python -m tests.bench.techniques.report`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

from infra.observability.json_lines import kept_lines
from services.evaluation.score import score
from tests.bench.chat import Chat
from tests.bench.orders import TOLD, Order, sample
from tests.bench.techniques.methods import BY_NAME, METHODS, Method
from tests.bench.techniques.reading import exact, exact_when_tidied, read
from tests.bench.vllm_server import about, add_arguments, vllm_server

FIRST_PORT = 9101
# vLLM refuses requests that name a function without a parser of calls. Hermes' is Qwen's.
CALLS = ("--enable-auto-tool-choice", "--tool-call-parser", "hermes")
T = TypeVar("T")


def judged(method: Method, chat: Chat, order: Order, temperature: float) -> dict[str, Any]:
    """One row of the results: an order through one technique, with every answer's text."""
    # A seed of each order's own: with one for all, orders with like beginnings would fail alike.
    sampling = {"temperature": temperature, "seed": crc32(order.id.encode())}
    answers = method.ask(chat, order, sampling)
    readings = [read(method.form.names(a, order.menu), order.labels, order.said) for a in answers]
    last = readings[-1]
    lines = score(order.gold, last.lines)
    return {
        "id": order.id,
        "failure": last.failure,
        "first_failure": readings[0].failure,
        "exact": exact(last, order.gold),
        "exact_tidied": exact_when_tidied(last, order.gold, order.evidence()),
        "catalog": last.catalog,
        "words_not_said": last.words_not_said,
        "gold_lines": lines.gold_lines,
        "right_lines": lines.equal_lines,
        "calls": len(answers),
        "prompt_tokens": sum(a.prompt_tokens for a in answers),
        "cached_tokens": sum(a.cached_tokens for a in answers),
        "completion_tokens": sum(a.completion_tokens for a in answers),
        "seconds": round(sum(a.seconds for a in answers), 3),
        "load": round(os.getloadavg()[0], 1),
        "texts": [a.text for a in answers],
    }


def done(file: Path) -> set[str]:
    """Ids that the file has; a last line cut short by a kill counts as not there."""
    return {row["id"] for row in kept_lines(file)}


def blocks(orders: list[T], size: int) -> Iterator[list[T]]:
    for start in range(0, len(orders), size):
        yield orders[start : start + size]


def run(
    methods: list[Method],
    chats: dict[str, Chat],
    orders: list[Order],
    temperature: float,
    args: argparse.Namespace,
) -> None:
    """All blocks through all methods; rows are appended block by block."""
    files = {m.name: args.out / f"{m.name}-{temperature}.jsonl" for m in methods}
    known = {name: done(file) for name, file in files.items()}
    with ThreadPoolExecutor(args.in_flight) as pool:
        for block in blocks(orders, args.in_flight):
            for method in methods:
                todo = [order for order in block if order.id not in known[method.name]]
                chat = chats[method.backend]
                rows = pool.map(lambda o, m=method, c=chat: judged(m, c, o, temperature), todo)
                with files[method.name].open("a") as out:
                    out.writelines(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
            print(f"T={temperature}: {block[-1].id}", flush=True)


def warm(methods: list[Method], chats: dict[str, Chat], orders: list[Order]) -> None:
    """Each technique's schema compiled and each prompt's fixed part cached, for one order of each menu."""
    firsts = {order.menu.id: order for order in reversed(orders)}
    for method in methods:
        for order in firsts.values():
            method.ask(chats[method.backend], order, {"temperature": 0, "max_tokens": 1})


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    add_arguments(parser)
    parser.add_argument("--out", type=Path, default=Path("reports/techniques"))
    parser.add_argument(
        "--only", default=",".join(m.name for m in METHODS), help="names, or names of variants"
    )
    parser.add_argument("--url", action="append", default=[], metavar="BACKEND=URL")
    parser.add_argument("--orders", type=int, default=40, help="at temperature 0")
    parser.add_argument("--warm-orders", type=int, default=20, help="at temperature 0.7")
    parser.add_argument("--told", type=int, default=0, help="told orders of the same menus beside those at 0")
    parser.add_argument("--in-flight", type=int, default=16)
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that servers are ended too
    args.out.mkdir(parents=True, exist_ok=True)
    methods = [BY_NAME[name] for name in args.only.split(",")]
    urls = dict(pair.split("=", 1) for pair in args.url)
    with ExitStack() as stack:
        for number, backend in enumerate(sorted({m.backend for m in methods} - urls.keys())):
            urls[backend] = stack.enter_context(
                vllm_server(
                    args.python, args.model, backend=backend, port=FIRST_PORT + number, device=args.device,
                    threads=args.threads, extra=CALLS,
                )
            )  # fmt: skip
        chats = {backend: Chat(url, args.model.name) for backend, url in urls.items()}
        told = {**about(args, next(iter(urls.values()))), "orders_in_flight": args.in_flight}
        (args.out / "about.json").write_text(json.dumps(told, indent=1) + "\n")
        orders = [*sample(args.orders), *sample(args.told, TOLD)]
        warm(methods, chats, orders)
        for temperature, asked in ((0.0, orders), (0.7, sample(args.warm_orders))):
            run(methods, chats, asked, temperature, args)
    return 0


if __name__ == "__main__":
    sys.exit(main())
