"""What `/metrics/database` shows: orders and messages, as the database has them.

Each replica of the API can answer, and all would say the same, so one of them is asked: a scrape target for
the service, not for each process. All is counted by indexes.
"""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.core import GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.errors import SaycartError
from schemas.lifecycle import STAGES, State
from services.bootstrap import Container

log = structlog.get_logger(__name__)


class Counts(Collector):
    """Asks the database at each scrape, so that a restart of the API loses no count."""

    def __init__(self, container: Container) -> None:
        self.container = container
        self.registry = CollectorRegistry()
        self.registry.register(self)

    def collect(self) -> Iterable[Metric]:
        up = GaugeMetricFamily("saycart_database_up", "1 if the orders could be counted")
        try:
            # Whole before anything is told: half of it would look like a fall to nothing.
            counted = [*self._orders(), *self._waiting(), *self._messages()]
        except SaycartError as error:
            log.warning("metrics.no_counts", code=error.code)
            counted = []
        up.add_metric([], 1 if counted else 0)
        yield up
        yield from counted

    def _orders(self) -> Iterable[Metric]:
        orders = GaugeMetricFamily("saycart_orders", "orders by state", labels=["state"])
        counts = self.container.orders.counts()
        for state in State:
            orders.add_metric([state.value], counts.get(state, 0))
        return (orders,)

    def _waiting(self) -> Iterable[Metric]:
        load = self.container.load.load()
        oldest = GaugeMetricFamily(
            "saycart_queue_oldest_seconds",
            "age of the oldest order due for a stage and not held by a worker",
            labels=["stage"],
        )
        held = GaugeMetricFamily("saycart_orders_held", "orders held by a worker", labels=["stage"])
        longest = GaugeMetricFamily(
            "saycart_lease_oldest_seconds",
            "longest time a held order has gone without progress, including its wait",
            labels=["stage"],
        )
        backlog = self.container.load.backlog()
        for state, stage in STAGES.items():
            found = backlog[state]
            oldest.add_metric([stage], found.oldest_s)
            held.add_metric([stage], found.held)
            longest.add_metric([stage], found.longest_held_s)
        waiting = GaugeMetricFamily("saycart_orders_waiting", "orders waiting for workers", load.waiting)
        limit = GaugeMetricFamily(
            "saycart_orders_waiting_limit",
            "waiting orders from which new ones are refused; 0: never",
            self.container.settings.max_backlog,
        )
        rate = GaugeMetricFamily(
            "saycart_orders_per_second",
            "orders finished by the workers in the last minute",
            load.per_second,
        )
        return waiting, limit, rate, oldest, held, longest

    def _messages(self) -> Iterable[Metric]:
        messages = GaugeMetricFamily("saycart_webhooks", "webhook messages by state", labels=["state"])
        for name, count in self.container.outbox.counts().items():
            messages.add_metric([name], count)
        age = GaugeMetricFamily(
            "saycart_webhooks_oldest_seconds",
            "age of the oldest waiting message",
            self.container.outbox.oldest_s(),
        )
        return messages, age

    def text(self) -> bytes:
        """The Prometheus text format, version 0.0.4."""
        return generate_latest(self.registry)
