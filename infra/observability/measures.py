"""The metrics of workers, sweeper and courier; `metrics.py` exports them to Prometheus.

Labels have few values, from our own code and never from orders, shops or customers; `docs/metrics.md` lists
them.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, disable_created_metrics

if TYPE_CHECKING:
    from infra.sql.database import Database

# No extra series with the creation time of each counter.
disable_created_metrics()  # type: ignore[no-untyped-call]
REGISTRY = CollectorRegistry()
# Seconds. The objective for a settled order is 5 (docs/metrics.md).
_WORK_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 200)
_WAIT_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
_SETTLED_S = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 30, 60, 120, 300, 900, 3600)

DONE, FAULT = "done", "fault"


def _histogram(name: str, help: str, *labels: str, buckets: tuple[float, ...] = _WORK_S) -> Histogram:
    return Histogram(f"saycart_{name}", help, labels, buckets=buckets, registry=REGISTRY)


def _counter(name: str, help: str, *labels: str) -> Counter:
    return Counter(f"saycart_{name}", help, labels, registry=REGISTRY)


def _gauge(name: str, help: str) -> Gauge:
    # Summed over living processes; `metrics.py` removes those of dead ones.
    return Gauge(f"saycart_{name}", help, ["part"], registry=REGISTRY, multiprocess_mode="livesum")


_STAGES = _histogram("stage_seconds", "one try of one stage, from claim to commit", "stage", "outcome")
_ENGINES = _histogram("engine_seconds", "one call of an engine", "engine", "outcome")
_WAITS = _histogram(
    "queue_wait_seconds", "from when an order was due for a stage to its claim", "stage", buckets=_WAIT_S
)
_SETTLED = _histogram(
    "order_settled_seconds",
    "from an order's acceptance until no worker has anything to do, less its recording's length",
    "source",
    "state",
    buckets=_SETTLED_S,
)
_SWEEPS = _histogram("sweeper_seconds", "one part of a round of the sweeper", "step", "outcome")
_WEBHOOKS = _histogram("webhook_seconds", "one try of a message to the shop's system", "outcome")
_PROBLEMS = _counter("problems", "failures and doubts by kind and code", "kind", "code")
_LEASES = _counter("lease_troubles", "leases lost, not renewed, or timed out", "stage", "trouble")
_TOKENS = _counter("tokens", "tokens that decode servers reported", "engine", "kind")
_OVERRULED = _counter(
    "overruled_tokens", "tokens that the mask chose against the model, where scored", "engine"
)
_SLOTS = _gauge("worker_slots", "orders that this part can work on at once")
_BUSY = _gauge("worker_slots_busy", "orders that this part works on")
_CONNECTIONS = _gauge("database_connections_busy", "connections in use, of all pools")
_CONNECTIONS_LIMIT = _gauge("database_connections_limit", "connections that the pools may open")

_part = ""


def set_part(part: str) -> None:
    """Set the name of this process and its forks in their gauges."""
    global _part
    _part = part


def watch(database: Database, *, slots: int = 0) -> None:
    """Export the use of database connections and, for a worker, of its `slots` for orders."""
    if slots:
        _SLOTS.labels(_part).set(slots)
        _BUSY.labels(_part).set(0)
    _CONNECTIONS_LIMIT.labels(_part).set(database.connections_limit)
    in_use = _CONNECTIONS.labels(_part)
    in_use.set(0)
    database.on_connections(in_use.set)


@dataclass(slots=True)
class Timed:
    """A timed block, which sets its `outcome`."""

    outcome: str = FAULT


@contextmanager
def _timed(histogram: Histogram, name: str) -> Iterator[Timed]:
    timed, started = Timed(), time.perf_counter()
    try:
        yield timed
    finally:
        histogram.labels(name, timed.outcome).observe(time.perf_counter() - started)


@contextmanager
def time_stage(stage: str) -> Iterator[Timed]:
    """Time one attempt of a stage; without an outcome it counts as a fault."""
    busy = _BUSY.labels(_part)
    with busy.track_inprogress(), _timed(_STAGES, stage) as timed:
        yield timed


def outcome_of(error: BaseException) -> str:
    """Return the label of an error: its code if it is one of ours, otherwise `FAULT`."""
    code = getattr(type(error), "code", FAULT)
    return code if isinstance(code, str) else FAULT


@contextmanager
def time_engine(engine: str) -> Iterator[None]:
    """Time one call of an engine; its outcome is `done`, or the code of its error."""
    with _timed(_ENGINES, engine) as timed:
        try:
            yield
            timed.outcome = DONE
        except BaseException as error:
            timed.outcome = outcome_of(error)
            raise


def time_sweep(step: str) -> AbstractContextManager[Timed]:
    """Time one step of the sweeper's round, as `time_stage`."""
    return _timed(_SWEEPS, step)


def observe_wait(stage: str, seconds: float) -> None:
    """Record the time from when an order was due to its claim."""
    _WAITS.labels(stage).observe(max(0.0, seconds))


def observe_settled(source: str, state: str, seconds: float) -> None:
    """Record an order, `spoken` or `typed`, that the workers are done with."""
    _SETTLED.labels(source, state).observe(max(0.0, seconds))


def count_problem(kind: str, code: str) -> None:
    """Count a failure or a doubt of a stage, by a kind of `services/pipeline/problems.py`."""
    _PROBLEMS.labels(kind, code).inc()


def initialize(problems: Iterable[tuple[str, str]], troubles: Iterable[tuple[str, str]]) -> None:
    """Set these counters to zero: `increase` misses the first event of a counter that starts with it."""
    for labels in problems:
        _PROBLEMS.labels(*labels)
    for labels in troubles:
        _LEASES.labels(*labels)


def count_lease_trouble(stage: str, trouble: str) -> None:
    """Count a lease that was `lost` to another worker, `not_renewed`, or `timed_out` past the stage's
    limit."""
    _LEASES.labels(stage, trouble).inc()


def count_tokens(engine: str, *, prompt: int, cached: int, completion: int, overruled: int | None) -> None:
    """Count the tokens of one answer; `prompt` includes `cached`. `overruled` is None if it was not
    scored."""
    for kind, count in (("prompt", prompt), ("cached", cached), ("completion", completion)):
        _TOKENS.labels(engine, kind).inc(max(0, count))
    if overruled is not None:
        _OVERRULED.labels(engine).inc(overruled)


def observe_webhook(outcome: str, seconds: float) -> None:
    """Record one attempt to send a message: `delivered`, `failed` or `dead`."""
    _WEBHOOKS.labels(outcome).observe(seconds)
