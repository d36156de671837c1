"""What `/metrics` shows: what this process of the API counts, so that sums over replicas are right, and on a
machine that runs the other parts too what those have measured. Counts of the database: `counts.py`."""

from __future__ import annotations

from collections.abc import Sequence

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram

from infra.observability import metrics
from services.api.gate.pressure import Pressure
from services.api.gate.rates import Rates
from services.api.waiting.room import Waiting
from services.bootstrap import Container

# Seconds. Long polls end at 30, uploads at 120.
_BUCKETS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120)
_ACCEPTED = (0.005, 0.01, 0.025, 0.05, 0.075, 0.1, 0.15, 0.25, 0.5, 1, 2.5, 5, 10)
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})


class Metrics:
    """One registry an app: several apps in one process (as in tests) do not mix."""

    def __init__(self, container: Container, pressure: Pressure, waiting: Waiting, rates: Rates) -> None:
        registry = self.registry = CollectorRegistry()
        database, config = container.database, container.settings
        for name, says, value in (
            ("clients_waiting", "open long polls and event streams", lambda: waiting.watchers),
            ("masked_limit", "limit of concurrent masked calls", lambda: config.masked_at_once),
            (
                "api_connections_busy",
                "database connections in use by this process",
                lambda: database.connections_busy,
            ),
            ("api_connections_limit", "limit of database connections", lambda: database.connections_limit),
        ):
            Gauge(f"saycart_{name}", says, registry=registry).set_function(value)
        if (folder := metrics.shown()) is not None:
            registry.register(metrics.Parts(folder))
        registry.register(pressure.refused)
        registry.register(rates.refused)

        def histogram(name: str, says: str, *labels: str, buckets: Sequence[float] = _BUCKETS) -> Histogram:
            return Histogram(f"saycart_{name}", says, labels, buckets=buckets, registry=registry)

        def counter(name: str, says: str, *labels: str) -> Counter:
            return Counter(f"saycart_{name}", says, labels, registry=registry)

        self.requests = counter(
            "http_requests_total", "answers by route template", "method", "route", "status"
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

    def saw(self, method: str, route: str, status: int, seconds: float) -> None:
        """Count one answer. `route` is a template and an odd method is folded, so labels stay few."""
        method = method if method in _METHODS else "other"
        self.requests.labels(method, route, str(status)).inc()
        self.seconds.labels(method, route).observe(seconds)
