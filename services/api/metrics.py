"""Metrics of `/metrics`: those of this API process, and those of other parts on the same machine.

Sums over replicas are therefore right. Counts from the database are in `counts.py`."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from infra.observability import metrics
from services.api.gate.pressure import Pressure
from services.api.gate.rates import Rates
from services.api.waiting.watch import Waiting
from services.bootstrap import Container

# Seconds. Long polls end at 30, uploads at 120.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_ACCEPTED = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


class Metrics:
    """A registry for each app, so that several apps in one process (as in tests) don't mix."""

    def __init__(self, container: Container, pressure: Pressure, waiting: Waiting, rates: Rates) -> None:
        registry = self.registry = CollectorRegistry()
        database, config = container.database, container.settings
        for name, description, value in (
            ("clients_waiting", "open long polls and event streams", lambda: waiting.watchers),
            ("masked_limit", "limit of concurrent masked calls", lambda: config.masked_at_once),
            (
                "api_connections_busy",
                "database connections in use by this process",
                lambda: database.connections_busy,
            ),
            ("api_connections_limit", "limit of database connections", lambda: database.connections_limit),
        ):
            Gauge(f"saycart_{name}", description, registry=registry).set_function(value)
        if (folder := metrics.shown_folder()) is not None:
            registry.register(metrics.FolderCollector(folder))
        registry.register(pressure.refused)
        registry.register(rates.refused)

        def histogram(name: str, about: str, *labels: str, buckets: Sequence[float] = _BUCKETS) -> Histogram:
            return Histogram(f"saycart_{name}", about, labels, buckets=buckets, registry=registry)

        labels = ("method", "route", "status")
        self.requests = Counter(
            "saycart_http_requests_total", "answers by route template", labels, registry=registry
        )
        head = "time from the request's head to the end of the answer"
        self.seconds = histogram("http_request_seconds", head, "method", "route")
        body = "time from an order's last byte to the first byte of the answer accepting it"
        self.accepted = histogram("order_accepted_seconds", body, buckets=_ACCEPTED)
        self.masked_busy = Gauge(
            "saycart_masked_busy", "masked calls running in this process", registry=registry
        )
        outcome = "duration of a masked call, by task and outcome (`done`, or the error's code)"
        self.masked = histogram("masked_seconds", outcome, "task", "outcome")

    def record(self, method: str, route: str, status: int, seconds: float) -> None:
        """Record a response. Route templates and one label for unusual methods keep the labels few."""
        method = method if method in _METHODS else "other"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)
