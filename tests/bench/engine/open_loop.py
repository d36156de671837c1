"""Orders that arrive when they like: latency by offered load, and the highest load that an engine bears.

    python -m tests.bench.engine.open_loop [--rates 0.1 0.2 0.5] [--limits 2 20] [--out FILE]
    python -m tests.bench.engine.open_loop --url http://gpu:8000 --dialect vllm --model NAME

A closed loop sends the next order when one is done, so a slow engine is asked less. Customers do not wait for
each other: here orders come at random (a Poisson process), done or not the ones before, through the product's
own client. An order's time runs from its arrival, so the queue is in it; one that fails counts as never done.

Rates are tried upwards until the 95th percentile passes the largest limit; for each limit the gap between
the last rate under it and the first one over it is then halved. Without `--url` the embedded llama.cpp
server is started. Answers go to OUT, and what it has already is not asked again.
"""

from __future__ import annotations

import argparse
import math
import os
import random
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, nullcontext
from itertools import cycle, islice
from pathlib import Path
from typing import Any, Protocol

from schemas.errors import EngineError
from schemas.evidence import Evidence
from services.engines.decoding.decoder import OpenAIDecoder
from services.engines.ports import Decoded
from services.evaluation.statistics import quantile
from tests.bench.orders import Order, sample
from tests.bench.results import Results
from tests.engines.running import llama

MODEL = "qwen2.5-coder-0.5b-instruct-q4_k_m.gguf"
RATES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0, 50.0, 100.0)  # orders a second
LIMITS = (2.0,)  # seconds
SECONDS = 60.0  # of arrivals at one rate, more where that gives fewer than LEAST orders
LEAST, MOST = 16, 500  # orders at one rate; on a slow engine fewer must do
HALVINGS = 2
TIMEOUT_S = 300.0
SEED = 20_260_101

Arrivals = list[float]
Measure = Callable[[float], float]


class Decoder(Protocol):
    """What is asked of an engine here."""

    def decode(self, evidence: Evidence) -> Decoded: ...


def arrivals(rate: float, orders: int, seed: int) -> Arrivals:
    """Times in seconds at which orders come, `rate` a second on average, at random (a Poisson process)."""
    rng = random.Random(seed)
    at, times = 0.0, []
    for _ in range(orders):
        at += rng.expovariate(rate)
        times.append(at)
    return times


def offer(decoder: Decoder, orders: Sequence[Order], times: Arrivals) -> list[float]:
    """Send each order at its time; seconds from arrival to cart, infinite where there was none."""
    heard = [order.evidence() for order in orders]
    started = time.perf_counter()

    def one(evidence: Evidence, when: float) -> float:
        time.sleep(max(0.0, started + when - time.perf_counter()))
        try:
            decoder.decode(evidence)
        except EngineError:
            return math.inf
        return time.perf_counter() - started - when

    with ThreadPoolExecutor(len(orders)) as pool:
        return list(pool.map(one, heard, times))


def point(rate: float, times: Arrivals, seconds: Sequence[float]) -> dict[str, Any]:
    """Figures of one rate; a percentile that falls on an order without a cart is None."""
    done = [when + took for when, took in zip(times, seconds, strict=True) if math.isfinite(took)]
    return {
        "rate": rate,
        "orders": len(seconds),
        "failed": len(seconds) - len(done),
        "offered_per_s": round(len(times) / times[-1], 3),
        "done_per_s": round(len(done) / max(done), 3) if done else 0.0,
        **{f"p{share}_s": _seconds(quantile(seconds, share / 100)) for share in (50, 95, 99)},
        "load": round(os.getloadavg()[0], 1),
    }


def highest(measure: Measure, rates: Sequence[float], limits: Sequence[float]) -> dict[str, float | None]:
    """For each limit the highest rate tried whose 95th percentile is within it, None where none is.

    `measure` gives the 95th percentile at a rate in seconds. With more load it must not fall, but for noise:
    of two rates that contradict each other the lower one is believed.
    """
    tried: dict[float, float] = {}
    for rate in sorted(rates):
        tried[rate] = measure(rate)
        if tried[rate] > max(limits):
            break
    found: dict[str, float | None] = {}
    for limit in limits:
        for _ in range(HALVINGS):
            good, bad = _around(tried, limit)
            if good is None or bad is None:
                break
            middle = float(f"{(good + bad) / 2:.3g}")
            tried[middle] = measure(middle)
        found[f"{limit:g}"] = _around(tried, limit)[0]
    return found


def _around(tried: dict[float, float], limit: float) -> tuple[float | None, float | None]:
    """The last rate before the first one over the limit, and that one."""
    over = min((rate for rate, p95 in tried.items() if p95 > limit), default=None)
    under = (rate for rate in tried if over is None or rate < over)
    return max(under, default=None), over


def bear(
    decoder: Decoder, orders: Sequence[Order], results: Results, name: str, rates: Sequence[float],
    limits: Sequence[float], seconds: float = SECONDS, least: int = LEAST,
) -> None:  # fmt: skip
    """Ask `arrivals NAME RATE` for each rate that is tried, and `highest NAME`."""

    def at(rate: float) -> float:
        count = max(least, min(int(rate * seconds), MOST))
        some, times = list(islice(cycle(orders), count)), arrivals(rate, count, SEED)
        found = results.ask(
            f"arrivals {name} {rate:g}", lambda: point(rate, times, offer(decoder, some, times))
        )
        return math.inf if found["p95_s"] is None else float(found["p95_s"])

    results.ask(f"highest {name}", lambda: highest(at, rates, limits))


def _seconds(value: float) -> float | None:
    return round(value, 2) if math.isfinite(value) else None


@contextmanager
def embedded(model: str, threads: int) -> Iterator[str]:
    """The embedded llama.cpp server with two slots, as `saycart run` starts it; its address."""
    with tempfile.TemporaryDirectory() as home, llama(Path(home), model, threads=threads) as engine:
        yield engine.url


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--url", help="a server that is up already")
    parser.add_argument("--dialect", choices=("llama.cpp", "vllm"), default="llama.cpp")
    parser.add_argument("--model", default=MODEL)
    parser.add_argument("--threads", type=int, default=2, help="of the embedded server")
    parser.add_argument("--rates", type=float, nargs="+", default=RATES, help="orders a second")
    parser.add_argument("--limits", type=float, nargs="+", default=LIMITS, help="of the 95th percentile, s")
    parser.add_argument("--seconds", type=float, default=SECONDS, help="of arrivals at one rate")
    parser.add_argument("--least", type=int, default=LEAST, help="orders at one rate, however low")
    parser.add_argument("--out", type=Path, default=Path("reports/engine.json"))
    args = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))  # so that the server is ended too
    orders = sample(10_000)
    random.Random(SEED).shuffle(orders)
    with nullcontext(args.url) if args.url else embedded(args.model, args.threads) as url:
        decoder = OpenAIDecoder(url, dialect=args.dialect, model=args.model, timeout_s=TIMEOUT_S)
        decoder.probe()
        for order in {o.menu.id: o for o in orders}.values():
            decoder.warm(order.evidence())  # the fixed part of each prompt is cached, as in service
        name = f"{args.dialect} {args.model}"
        bear(decoder, orders, Results(args.out), name, args.rates, args.limits, args.seconds, args.least)
    return 0


if __name__ == "__main__":
    sys.exit(main())
