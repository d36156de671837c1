"""Metrics of `/metrics/database`: orders and messages, counted in the database by indexes.

Every replica of the API returns the same, so scrape only one: the service, not each process.
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
    """Queries the database at each scrape, so a restart of the API loses no count."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterable[Metric]:
        try:
            # All or nothing: a missing metric would look like a drop to zero.
            metrics = [*self._orders(), *self._queues(), *self._messages()]
        except SaycartError as error:
            log.warning("metrics.no_counts", code=error.code)
            metrics = []
        yield _gauge("database_up", "1 if the orders could be counted", 1 if metrics else 0)
        yield from metrics

    def _orders(self) -> Iterable[Metric]:
        load, counts = self.container.load.load(), self.container.orders.counts()
        states = {state.value: counts.get(state, 0) for state in State}
        yield _by("orders", "orders by state", "state", states)
        yield _gauge("orders_waiting", "orders waiting for workers", load.waiting)
        limit = "waiting orders from which new ones are refused; 0: never"
        yield _gauge("orders_waiting_limit", limit, self.container.settings.max_backlog)

    def _queues(self) -> Iterable[Metric]:
        backlog = self.container.load.backlog()
        queues = {stage.value: backlog[state] for state, stage in STAGES.items()}
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


def _gauge(name: str, description: str, value: float) -> Metric:
    return GaugeMetricFamily(f"saycart_{name}", description, value)


def _by(name: str, description: str, label: str, values: Mapping[str, float]) -> Metric:
    family = GaugeMetricFamily(f"saycart_{name}", description, labels=[label])
    for key, value in values.items():
        family.add_metric([key], value)
    return family
