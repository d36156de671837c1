"""What our own steps cost around an engine that answers at once: read, mask, validate, price.

The engine is a small HTTP server in this process that repeats what the real one said to the same words. Queue
and database are not in it, nor is the time of a real engine; HTTP and JSON on both sides are.
"""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from infra.settings import Settings
from services.bootstrap import bootstrap
from services.engines.decoding.decoder import PROBE_WORD, OpenAIDecoder
from services.evaluation.run import predict
from services.evaluation.statistics import quantile
from services.pipeline.ports import Tools
from tests.bench.orders import Order
from tests.servers.loopback import Handler, serving

ROUNDS = 3
THREADS = (1, 8)


@contextmanager
def instant_engine(texts: Mapping[str, str]) -> Iterator[str]:
    """An OpenAI-compatible server that gives, at once, the text that belongs to the last message, and the
    probe's word to what is no order."""

    class Engine(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            asked = json.loads(self.body())
            text = texts.get(asked["messages"][-1]["content"], PROBE_WORD)
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            body = json.dumps({"choices": [choice], "usage": {}}).encode()
            self.answer(200, body, Content_Type="application/json")

    with serving(Engine) as url:
        yield url


def pipeline_cost(orders: Sequence[Order], texts: Mapping[str, str]) -> dict[str, Any]:
    """Milliseconds an order, and orders a second of one process, by threads. `texts` is by order id."""
    known = [order for order in orders if order.id in texts]
    by_words = {order.messages()[-1]["content"]: texts[order.id] for order in known}
    with instant_engine(by_words) as url, tempfile.TemporaryDirectory() as home:
        settings = Settings(home=Path(home), llm_url=url, llm_dialect="vllm", llm_model="instant")
        # Whole answers: an engine that is asked for choices alone would have to know where it stands.
        decoder = OpenAIDecoder(url, dialect="vllm", model="instant", whole=True)
        tools = replace(bootstrap(settings).tools, skip_settled=False, decoder=lambda: decoder)
        for order in known:
            _timed(order, tools)  # menus' lexicons are built once
        return {str(threads): _rates(known * ROUNDS, tools, threads) for threads in THREADS}


def _rates(orders: Sequence[Order], tools: Tools, threads: int) -> dict[str, Any]:
    started = time.perf_counter()
    with ThreadPoolExecutor(threads) as pool:
        times = list(pool.map(lambda order: _timed(order, tools), orders))
    wall = time.perf_counter() - started
    ms = [wall_ms for wall_ms, _ in times]
    return {
        "orders": len(orders),
        "p50_ms": round(quantile(ms, 0.5), 1),
        "p95_ms": round(quantile(ms, 0.95), 1),
        "cpu_p50_ms": round(quantile([cpu_ms for _, cpu_ms in times], 0.5), 1),
        "orders_per_s": round(len(orders) / wall, 1),
    }


def _timed(order: Order, tools: Tools) -> tuple[float, float]:
    """Milliseconds of one order through the pipeline's steps: on the clock, and of this thread's CPU time.

    Raises:
        RuntimeError: a stage failed, so that its time says nothing.
    """
    clock, cpu = time.perf_counter(), time.thread_time()
    row = predict({"id": order.id, "utterance": order.said, "cart": {}}, order.menu, tools, None)
    spent = (time.perf_counter() - clock) * 1e3, (time.thread_time() - cpu) * 1e3
    if not row["cart"]["lines"] and not row["findings"]:
        raise RuntimeError(f"{order.id} did not get through the pipeline: {row['reasons']}")
    return spent
