"""What `/metrics` shows: requests by route template, and orders by state as the database has them."""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from prometheus_client import CollectorRegistry, Counter, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.errors import SaycartError
from schemas.lifecycle import State
from services.bootstrap import Container

log = structlog.get_logger(__name__)

# Seconds. Long polls end at 30, uploads at 120.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


class _Orders(Collector):
    """Asks the database at each scrape, so that a restart of the API loses no count."""

    def __init__(self, container: Container) -> None:
        self.container = container

    def collect(self) -> Iterable[Metric]:
        events = CounterMetricFamily("saycart_order_events", "events of all orders by type", labels=["type"])
        codes = CounterMetricFamily(
            "saycart_order_codes",
            "failures, findings, review reasons, dropped results, extra runs",
            labels=["kind", "code"],
        )
        up = GaugeMetricFamily("saycart_database_up", "1 when the orders could be counted")
        orders = GaugeMetricFamily("saycart_orders", "orders by state", labels=["state"])
        try:
            counts = self.container.orders.counts()
            coded = self.container.orders.code_counts()
            happened = self.container.orders.event_counts()
        except SaycartError as error:
            log.warning("metrics.no_counts", code=error.code)
            up.add_metric([], 0)
            yield up
            return
        for state in State:
            orders.add_metric([state.value], counts.get(state, 0))
        up.add_metric([], 1)
        for kind, count in sorted(happened.items()):
            events.add_metric([kind], count)
        for (about, code), count in sorted(coded.items()):
            codes.add_metric([about, code], count)
        yield up
        yield codes
        yield orders
        yield events


class Metrics:
    """One registry an app: several apps in one process (as in tests) do not mix."""

    def __init__(self, container: Container) -> None:
        self.registry = CollectorRegistry()
        self.registry.register(_Orders(container))
        self.requests = Counter(
            "saycart_http_requests_total",
            "answers by route template",
            ["method", "route", "status"],
            registry=self.registry,
        )
        self.seconds = Histogram(
            "saycart_http_request_seconds",
            "time from the request's head to the end of the answer",
            ["method", "route"],
            buckets=_BUCKETS,
            registry=self.registry,
        )

    def saw(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer. `route` is a template and an odd method is folded, so labels stay few."""
        method = method if method in _METHODS else "other"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """The Prometheus text format, version 0.0.4."""
        return generate_latest(self.registry)
