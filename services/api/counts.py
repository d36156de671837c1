"""What `/metrics/database` shows: orders and messages, as the database has them.

Each replica of the API can answer, and all would say the same, so one of them is asked: a scrape target for
the service, not for each process. All is counted by indexes.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import structlog
from prometheus_client import CollectorRegistry
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.errors import SaycartError
from schemas.lifecycle import STAGES, State
from services.bootstrap import Container

log = structlog.get_logger(__name__)


class DatabaseCounts(Collector):
    """Asks the database at each scrape, so that a restart of the API loses no count."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterable[Metric]:
        try:
            # All or nothing: half of it would look like a fall to nothing.
            counted = [*self._orders(), *self._queues(), *self._messages()]
        except SaycartError as error:
            log.warning("metrics.no_counts", code=error.code)
            counted = []
        yield _gauge("database_up", "1 if the orders could be counted", 1 if counted else 0)
        yield from counted

    def _orders(self) -> Iterable[Metric]:
        load, counts = self.container.load.load(), self.container.orders.counts()
        states = {state.value: counts.get(state, 0) for state in State}
        yield _by("orders", "orders by state", "state", states)
        yield _gauge("orders_waiting", "orders waiting for workers", load.waiting)
        limit = "waiting orders from which new ones are refused; 0: never"
        yield _gauge("orders_waiting_limit", limit, self.container.settings.max_backlog)

    def _queues(self) -> Iterable[Metric]:
        found = self.container.load.backlog()
        queues = {stage.value: found[state] for state, stage in STAGES.items()}
        oldest = {stage: queue.oldest_s for stage, queue in queues.items()}
        due = "age of the oldest order due for a stage and not held by a worker"
        yield _by("queue_oldest_seconds", due, "stage", oldest)
        longest = {stage: queue.longest_held_s for stage, queue in queues.items()}
        stuck = "longest time a held order has gone without progress, including its wait"
        yield _by("lease_oldest_seconds", stuck, "stage", longest)

    def _messages(self) -> Iterable[Metric]:
        outbox = self.container.outbox
        yield _by("webhooks", "webhook messages by state", "state", outbox.counts())
        yield _gauge("webhooks_oldest_seconds", "age of the oldest waiting message", outbox.oldest_s())


def _gauge(name: str, says: str, value: float) -> Metric:
    return GaugeMetricFamily(f"saycart_{name}", says, value)


def _by(name: str, says: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"saycart_{name}", says, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
