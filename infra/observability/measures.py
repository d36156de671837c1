"""The metrics of a process, as small functions that cost nothing while metrics are off.

`open_in` creates the instruments (see `metrics.py`); until then every function returns at once. Labels are
few and come from our own code, never from an order, a shop or a customer: `docs/metrics.md` lists all.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# Seconds, up to each one's limit. The objective for a settled order is 5 (docs/metrics.md).
WORK_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 200)
WAIT_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
SETTLED_S = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 30, 60, 120, 300, 900, 3600)

DONE, FAULT = "done", "fault"


class _Instruments:
    """All metrics of a worker in one registry. The library is imported only when they are on."""

    def __init__(self, registry: CollectorRegistry, part: str) -> None:
        from prometheus_client import Counter, Histogram

        def histogram(name: str, says: str, labels: tuple[str, ...], buckets: tuple[float, ...]) -> Histogram:
            return Histogram(f"saycart_{name}", says, labels, buckets=buckets, registry=registry)

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"saycart_{name}", says, labels, registry=registry)

        self.part = part
        self.stages = histogram(
            "stage_seconds", "one try of one stage, from claim to commit", ("stage", "outcome"), WORK_S
        )
        self.engines = histogram("engine_seconds", "one call of an engine", ("engine", "outcome"), WORK_S)
        self.waits = histogram(
            "queue_wait_seconds", "from when an order was due for a stage to its claim", ("stage",), WAIT_S
        )
        self.settled = histogram(
            "order_settled_seconds",
            "from an order's acceptance until no worker has anything to do, less its recording's length",
            ("source", "state"),
            SETTLED_S,
        )
        self.problems = counter("problems", "failures and doubts by kind and code", "kind", "code")
        self.leases = counter("lease_troubles", "leases lost, not renewed, or timed out", "stage", "trouble")
        self.tokens = counter("tokens", "tokens that decode servers reported", "engine", "kind")
        self.overruled = counter(
            "overruled_tokens", "tokens that the mask chose against the model, where scored", "engine"
        )
        self.sweeps = histogram(
            "sweeper_seconds", "one part of a round of the sweeper", ("step", "outcome"), WORK_S
        )
        self.webhooks = histogram(
            "webhook_seconds", "one try of a message to the shop's system", ("outcome",), WORK_S
        )
        self._gauges(registry)

    def _gauges(self, registry: CollectorRegistry) -> None:
        from prometheus_client import Gauge

        def gauge(name: str, says: str) -> Gauge:
            # Summed over living processes; `metrics.py` removes those of dead ones.
            return Gauge(f"saycart_{name}", says, ["part"], registry=registry, multiprocess_mode="livesum")

        self.slots = gauge("worker_slots", "orders that this part can work on at once")
        self.busy = gauge("worker_slots_busy", "orders that this part works on")
        self.connections = gauge("database_connections_busy", "connections in use, of all pools")
        self.room = gauge("database_connections_limit", "connections that the pools may open")


_instruments: _Instruments | None = None


def open_in(registry: CollectorRegistry, part: str) -> None:
    """Measure from now on, into `registry`; `part` names this process on its gauges."""
    global _instruments
    _instruments = _Instruments(registry, part)


def close() -> None:
    """Turn metrics off."""
    global _instruments
    _instruments = None


@dataclass(slots=True)
class Timed:
    """A measured block, which sets its `outcome`."""

    outcome: str = FAULT


@contextmanager
def stage_took(stage: str) -> Iterator[Timed]:
    """Time one attempt of a stage; without an outcome it counts as a fault."""
    timed, began = Timed(), time.perf_counter()
    if _instruments is not None:
        _instruments.busy.labels(_instruments.part).inc()
    try:
        yield timed
    finally:
        if _instruments is not None:
            _instruments.busy.labels(_instruments.part).dec()
            _instruments.stages.labels(stage, timed.outcome).observe(time.perf_counter() - began)


def outcome_of(error: BaseException) -> str:
    """Return the label of an error: the code of one of ours, else a fault."""
    code = getattr(type(error), "code", FAULT)
    return code if isinstance(code, str) else FAULT


@contextmanager
def engine_took(engine: str) -> Iterator[None]:
    """Time one call of an engine; its outcome is `done`, or the code of its error."""
    outcome, began = DONE, time.perf_counter()
    try:
        yield
    except BaseException as error:
        outcome = outcome_of(error)
        raise
    finally:
        if _instruments is not None:
            _instruments.engines.labels(engine, outcome).observe(time.perf_counter() - began)


def waited(stage: str, seconds: float) -> None:
    """Count how long after it was due an order was claimed."""
    if _instruments is not None:
        _instruments.waits.labels(stage).observe(max(0.0, seconds))


def settled(source: str, state: str, seconds: float) -> None:
    """Count an order, `spoken` or `typed`, that no worker has anything left to do for."""
    if _instruments is not None:
        _instruments.settled.labels(source, state).observe(max(0.0, seconds))


def problem(kind: str, code: str) -> None:
    """Count a failure or a doubt of a stage, by a kind of `services/pipeline/order_metrics.py`."""
    if _instruments is not None:
        _instruments.problems.labels(kind, code).inc()


def expect(problems: Iterable[tuple[str, str]], troubles: Iterable[tuple[str, str]]) -> None:
    """Initialize these counters to zero: `increase` misses the first event of a counter that starts with
    it."""
    if _instruments is not None:
        for labels in problems:
            _instruments.problems.labels(*labels)
        for labels in troubles:
            _instruments.leases.labels(*labels)


def lease_trouble(stage: str, trouble: str) -> None:
    """A lease was `lost` to another, `not_renewed`, or `timed_out`, past the stage's limit."""
    if _instruments is not None:
        _instruments.leases.labels(stage, trouble).inc()


def tokens(engine: str, *, prompt: int, cached: int, completion: int, overruled: int | None) -> None:
    """Count the tokens of one answer; `prompt` includes `cached`. `overruled` is None if it was not
    scored."""
    if _instruments is None:
        return
    for kind, count in (("prompt", prompt), ("cached", cached), ("completion", completion)):
        _instruments.tokens.labels(engine, kind).inc(max(0, count))
    if overruled is not None:
        _instruments.overruled.labels(engine).inc(overruled)


@contextmanager
def sweeper_took(step: str) -> Iterator[Timed]:
    """Time one step of the sweeper's round, as `stage_took`."""
    timed, began = Timed(), time.perf_counter()
    try:
        yield timed
    finally:
        if _instruments is not None:
            _instruments.sweeps.labels(step, timed.outcome).observe(time.perf_counter() - began)


def webhook_took(outcome: str, seconds: float) -> None:
    """Count one attempt to send a message: `delivered`, `failed` or `dead`."""
    if _instruments is not None:
        _instruments.webhooks.labels(outcome).observe(seconds)


def has_slots(slots: int) -> None:
    """Set how many orders this process works on at once."""
    if _instruments is not None:
        _instruments.slots.labels(_instruments.part).set(slots)
        _instruments.busy.labels(_instruments.part).set(0)


def pool_of(limit: int) -> None:
    """Set the limit of this process's connection pool."""
    if _instruments is not None:
        _instruments.room.labels(_instruments.part).set(limit)
        _instruments.connections.labels(_instruments.part).set(0)


def connections_in_use(connections: int) -> None:
    """Set how many connections of the pool are in use."""
    if _instruments is not None:
        _instruments.connections.labels(_instruments.part).set(connections)
