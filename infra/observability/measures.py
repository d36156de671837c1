"""What a process measures of its own work, by small functions that cost nothing where it was not asked for.

The instruments are made by `open_in` (`metrics.py` says who calls it); until then every function here
returns at once. Labels are few and come from our own code, never from an order, a shop or what a customer
said: `docs/metrics.md` has the whole list.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from prometheus_client import CollectorRegistry

# Seconds, up to the longest that each may take. 5 is the objective of a settled order (docs/metrics.md).
WORK_S = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 30, 60, 120, 200)
WAIT_S = (0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 900, 3600)
SETTLED_S = (0.1, 0.25, 0.5, 1, 1.5, 2, 3, 4, 5, 7.5, 10, 15, 30, 60, 120, 300, 900, 3600)

DONE, FAULT = "done", "fault"


class _Instruments:
    """All of a worker's metrics in one registry; importing the library is left until one is wanted."""

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
        self.leases = counter("lease_troubles", "leases lost, not renewed, or let go", "stage", "trouble")
        self.tokens = counter("tokens", "tokens that decode servers told of", "engine", "kind")
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
            # Summed over the processes that live: those of the dead are removed (`metrics.py`).
            return Gauge(f"saycart_{name}", says, ["part"], registry=registry, multiprocess_mode="livesum")

        self.slots = gauge("worker_slots", "orders that this part can work on at once")
        self.busy = gauge("worker_slots_busy", "orders that this part works on")
        self.connections = gauge("database_connections_busy", "connections that are lent by the pools")
        self.room = gauge("database_connections_limit", "connections that the pools may open")


_made: _Instruments | None = None


def open_in(registry: CollectorRegistry, part: str) -> None:
    """Measure from now on, into `registry`; `part` names this process on its gauges."""
    global _made
    _made = _Instruments(registry, part)


def close() -> None:
    """Measure nothing any more."""
    global _made
    _made = None


@dataclass(slots=True)
class Took:
    """What a measured block came to; `outcome` is set within it."""

    outcome: str = FAULT


@contextmanager
def stage_took(stage: str) -> Iterator[Took]:
    """Time one try of a stage; where the block sets no outcome it was a fault."""
    took, began = Took(), time.perf_counter()
    if _made is not None:
        _made.busy.labels(_made.part).inc()
    try:
        yield took
    finally:
        if _made is not None:
            _made.busy.labels(_made.part).dec()
            _made.stages.labels(stage, took.outcome).observe(time.perf_counter() - began)


def outcome_of(error: BaseException) -> str:
    """How an error is counted: by its code, which each of our own has; any other is a fault."""
    code = getattr(type(error), "code", FAULT)
    return code if isinstance(code, str) else FAULT


@contextmanager
def engine_took(engine: str) -> Iterator[None]:
    """Time one call of an engine; its outcome is `done`, or the code of the error that ends the block."""
    outcome, began = DONE, time.perf_counter()
    try:
        yield
    except BaseException as error:
        outcome = outcome_of(error)
        raise
    finally:
        if _made is not None:
            _made.engines.labels(engine, outcome).observe(time.perf_counter() - began)


def waited(stage: str, seconds: float) -> None:
    """An order was claimed so long after it was due."""
    if _made is not None:
        _made.waits.labels(stage).observe(max(0.0, seconds))


def settled(source: str, state: str, seconds: float) -> None:
    """An order, `spoken` or `typed`, came to a state in which no worker has anything to do."""
    if _made is not None:
        _made.settled.labels(source, state).observe(max(0.0, seconds))


def problem(kind: str, code: str) -> None:
    """A stage failed, or doubts what it found; `services/pipeline/counted.py` has the kinds."""
    if _made is not None:
        _made.problems.labels(kind, code).inc()


def expect(problems: Iterable[tuple[str, str]], troubles: Iterable[tuple[str, str]]) -> None:
    """Show these problems and lease troubles from the start, as zero: `increase` does not see a counter that
    begins with its first one."""
    if _made is not None:
        for labels in problems:
            _made.problems.labels(*labels)
        for labels in troubles:
            _made.leases.labels(*labels)


def lease_trouble(stage: str, trouble: str) -> None:
    """A lease was `lost` to another, `not_renewed`, or `let_go` past the stage's limit."""
    if _made is not None:
        _made.leases.labels(stage, trouble).inc()


def tokens(engine: str, *, prompt: int, cached: int, completion: int, overruled: int | None) -> None:
    """What one answer took; `cached` is a part of `prompt`. `overruled` is None where it was not scored."""
    if _made is None:
        return
    for kind, count in (("prompt", prompt), ("cached", cached), ("completion", completion)):
        _made.tokens.labels(engine, kind).inc(max(0, count))
    if overruled is not None:
        _made.overruled.labels(engine).inc(overruled)


@contextmanager
def sweeper_took(step: str) -> Iterator[Took]:
    """Time one part of the sweeper's round, as `stage_took`."""
    took, began = Took(), time.perf_counter()
    try:
        yield took
    finally:
        if _made is not None:
            _made.sweeps.labels(step, took.outcome).observe(time.perf_counter() - began)


def webhook_took(outcome: str, seconds: float) -> None:
    """One try of a message: `delivered`, `failed` or `dead`."""
    if _made is not None:
        _made.webhooks.labels(outcome).observe(seconds)


def has_slots(slots: int) -> None:
    """This process works on up to so many orders at once."""
    if _made is not None:
        _made.slots.labels(_made.part).set(slots)
        _made.busy.labels(_made.part).set(0)


def pool_of(limit: int) -> None:
    """This process's pool may open so many connections, and lends none yet."""
    if _made is not None:
        _made.room.labels(_made.part).set(limit)
        _made.connections.labels(_made.part).set(0)


def connections_in_use(connections: int) -> None:
    """The pool lends so many connections now."""
    if _made is not None:
        _made.connections.labels(_made.part).set(connections)
