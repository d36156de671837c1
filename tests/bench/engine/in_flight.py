"""Jobs for a decode server, so many at a time, and their rates."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from services.learning.evaluation.statistics import quantile
from tests.bench.chat import Answer, Chat

Job = Callable[[Chat], Answer]


@dataclass(frozen=True, slots=True)
class Spent:
    """The answers to some jobs, in their order, and the wall time."""

    answers: list[Answer]
    wall_s: float


def together(chat: Chat, jobs: Sequence[Job], in_flight: int) -> Spent:
    """Every job, so many at a time."""
    started = time.perf_counter()
    with ThreadPoolExecutor(in_flight) as pool:
        answers = list(pool.map(lambda job: job(chat), jobs))
    return Spent(answers, time.perf_counter() - started)


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
        "orders_per_s": round(len(answers) / wall, 3),
        "p50_s": round(quantile(seconds, 0.5), 2),
        "p95_s": round(quantile(seconds, 0.95), 2),
        "load": round(_load(), 1),
    }


def _load() -> float:
    return float(Path("/proc/loadavg").read_text().split()[0])
