"""What `/metrics` shows: requests by route template, and orders by state as the database has them."""

from __future__ import annotations

from collections.abc import Iterable

import structlog
from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from schemas.errors import IdempotencyInFlight, Overloaded, SaycartError, TooManyOrders
from schemas.lifecycle import State
from services.api.guard import Door
from services.api.pressure import Pressure
from services.api.rates import Rates
from services.api.waiting import Waiting
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
        messages = GaugeMetricFamily("saycart_webhooks", "messages to the shop by state", labels=["state"])
        try:
            counts = self.container.orders.counts()
            coded = self.container.orders.code_counts()
            happened = self.container.orders.event_counts()
            told = self.container.outbox.counts()
            load = self.container.load.load()
        except SaycartError as error:
            log.warning("metrics.no_counts", code=error.code)
            up.add_metric([], 0)
            yield up
            return
        for state in State:
            orders.add_metric([state.value], counts.get(state, 0))
        for name, count in told.items():
            messages.add_metric([name], count)
        up.add_metric([], 1)
        for kind, count in sorted(happened.items()):
            events.add_metric([kind], count)
        for (about, code), count in sorted(coded.items()):
            codes.add_metric([about, code], count)
        yield GaugeMetricFamily("saycart_orders_waiting", "orders that wait for workers", load.waiting)
        yield GaugeMetricFamily(
            "saycart_orders_per_second",
            "orders that the workers finished, over the last minute",
            load.per_second,
        )
        yield up
        yield codes
        yield orders
        yield messages
        yield events


class _Refusals(Collector):
    """Orders that this process did not let in, by the problem's code."""

    def __init__(self, pressure: Pressure) -> None:
        self.pressure = pressure

    def collect(self) -> Iterable[Metric]:
        refused = CounterMetricFamily(
            "saycart_orders_refused", "orders refused before their body was read", labels=["code"]
        )
        for error in (TooManyOrders, Overloaded, IdempotencyInFlight):
            refused.add_metric([error.code], self.pressure.refused[error.code])
        yield refused


class _Limited(Collector):
    """Requests that this process refused over a limit a minute, by its name."""

    def __init__(self, rates: Rates) -> None:
        self.rates = rates

    def collect(self) -> Iterable[Metric]:
        limited = CounterMetricFamily(
            "saycart_requests_limited", "requests refused over a limit a minute", labels=["limit"]
        )
        for name, count in sorted(self.rates.refused.items()):
            limited.add_metric([name], count)
        yield limited


class _Ended(Collector):
    """Connections that this process ended by itself, by its reason."""

    def __init__(self, door: Door) -> None:
        self.door = door

    def collect(self) -> Iterable[Metric]:
        ended = CounterMetricFamily(
            "saycart_connections_ended", "connections closed on slow or too many clients", labels=["reason"]
        )
        for reason, count in sorted(self.door.ended.items()):
            ended.add_metric([reason], count)
        yield ended


class Metrics:
    """One registry an app: several apps in one process (as in tests) do not mix."""

    def __init__(self, container: Container, pressure: Pressure, waiting: Waiting, rates: Rates) -> None:
        self.registry = CollectorRegistry()
        Gauge(
            "saycart_clients_waiting",
            "long polls and event streams of this process",
            registry=self.registry,
        ).set_function(lambda: waiting.watchers)
        self.registry.register(_Orders(container))
        self.registry.register(_Refusals(pressure))
        self.registry.register(_Limited(rates))
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

    def watch(self, door: Door) -> None:
        """Show what the server's door ended as well."""
        self.registry.register(_Ended(door))

    def saw(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer. `route` is a template and an odd method is folded, so labels stay few."""
        method = method if method in _METHODS else "other"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)

    def text(self) -> bytes:
        """The Prometheus text format, version 0.0.4."""
        return generate_latest(self.registry)
