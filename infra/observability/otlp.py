"""Spans by OpenTelemetry's SDK, sent to a collector by OTLP over HTTP. Imported lazily, by `tracing.py`
alone.

There is no global provider: with one FastAPI and redis-py would trace by themselves, with addresses, and
FastAPI would trust any caller's traceparent. Nothing waits for the collector: the SDK's queue is bounded, and
drops spans that don't fit or can't be delivered.
"""

from __future__ import annotations

import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import requests
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor
from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

# As in `tracing.py`, which imports this file.
Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "server", "client", "producer", "consumer"]

SEND_S = 5.0
CLOSE_S = 2.0
"""How long a process tries to send its last spans."""

_BEGINS = frozenset({"server", "consumer"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_W3C = TraceContextTextMapPropagator()


class Spans:
    """The spans of one process, with the methods of `tracing.py`."""

    def __init__(self, url: str, part: str, share: float) -> None:
        direct = requests.Session()
        direct.trust_env = False
        self._queue = BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=SEND_S, session=direct))
        provider = TracerProvider(
            sampler=ParentBased(TraceIdRatioBased(share)), resource=_resource(part), shutdown_on_exit=False
        )
        provider.add_span_processor(self._queue)
        self._tracer = provider.get_tracer("saycart")

    @contextmanager
    def span(self, name: str, attributes: Attributes, kind: Kind, link: str | None) -> Iterator[None]:
        if kind not in _BEGINS and not trace.get_current_span().get_span_context().is_valid:
            yield
            return
        about = _read(link)
        with self._tracer.start_as_current_span(
            name,
            kind=SpanKind[kind.upper()],
            attributes=dict(attributes),
            links=[Link(about)] if about else None,
            # Both would quote the error's message.
            record_exception=False,
            set_status_on_exception=False,
        ) as opened:
            try:
                yield
            except BaseException as error:
                _failed(opened, _kind_of(error))
                raise

    @contextmanager
    def continued(self, traceparent: str | None) -> Iterator[None]:
        parent = _read(traceparent)
        below = trace.set_span_in_context(NonRecordingSpan(parent), Context()) if parent else Context()
        token = contexts.attach(below)
        try:
            yield
        finally:
            contexts.detach(token)

    def note(self, attributes: Attributes) -> None:
        current = trace.get_current_span()
        current.set_attributes(dict(attributes))
        if "error.type" in attributes:
            current.set_status(StatusCode.ERROR)

    def traceparent(self) -> str | None:
        carrier: dict[str, str] = {}
        if trace.get_current_span().get_span_context().is_valid:
            _W3C.inject(carrier)
        return carrier.get("traceparent")

    def serving(self, method: str) -> Serving:
        return Serving(self._tracer, method if method in _METHODS else "_OTHER")

    def close(self) -> None:
        """Send the queued spans, for at most `CLOSE_S` seconds."""
        # In a daemon thread: a collector that never responds would block.
        closing = threading.Thread(target=self._queue.shutdown, name="traces-close", daemon=True)
        closing.start()
        closing.join(CLOSE_S)


class Serving:
    """The span of one HTTP request, the root of a trace, until the last byte of the response."""

    def __init__(self, tracer: trace.Tracer, method: str) -> None:
        self._method = method
        self._span = tracer.start_span(method, Context(), SpanKind.SERVER, {"http.request.method": method})
        self._token = contexts.attach(trace.set_span_in_context(self._span, Context()))

    def done(self, route: str, status: int) -> None:
        """End the span after the response; `route` is a template, never an address."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500 or not status:
            _failed(self._span, str(status or "no_answer"))
        self._span.end()

    def leave(self) -> None:
        """Detach the span from the context once the request is over."""
        with suppress(ValueError):
            contexts.detach(self._token)


def _read(traceparent: str | None) -> SpanContext | None:
    """Parse a traceparent; None if it is invalid."""
    if traceparent is None:
        return None
    parsed = trace.get_current_span(_W3C.extract({"traceparent": traceparent}, Context())).get_span_context()
    return parsed if parsed.is_valid else None


def _failed(span: trace.Span, kind: str) -> None:
    span.set_attribute("error.type", kind)
    span.set_status(StatusCode.ERROR)


def _kind_of(error: BaseException) -> str:
    code = getattr(error, "code", None)
    return code if isinstance(code, str) else type(error).__name__


def _resource(part: str) -> Resource:
    try:
        release = version("saycart")
    except PackageNotFoundError:  # run from a checkout that was never installed
        release = "0"
    host, pid = socket.gethostname(), os.getpid()
    return Resource.create(
        {
            "service.namespace": "saycart",
            "service.name": f"saycart-{part}",
            "service.version": release,
            "service.instance.id": f"{host}:{pid}",
            "process.pid": pid,
        }
    )
