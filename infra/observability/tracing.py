"""Traces: an order from its upload to the shop's webhook, as one trace of OpenTelemetry (ADR 52).

Off unless `SAYCART_TRACES_URL` is set. Call `start` after any fork.

    with continued(order.traceparent), span("stage decode", {...}, kind="consumer"):
        ...
        note({"saycart.outcome": "done"})

Spans contain ids, codes, counts and names of our own parts, but no customers' words or error messages: the
collector is another machine, often another company's.

No global provider is set: with one, FastAPI and redis-py would trace on their own, including addresses, and
FastAPI would trust any caller's traceparent. Nothing waits for the collector: the SDK's queue is bounded, and
drops spans that don't fit or can't be delivered.
"""

from __future__ import annotations

import math
import os
import socket
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from importlib.metadata import version
from typing import TYPE_CHECKING, Literal
from urllib.parse import urlsplit

from opentelemetry import context, trace
from opentelemetry.context import Context
from opentelemetry.trace import Link, NonRecordingSpan, NoOpTracer, SpanKind, StatusCode
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from infra.addresses import parameters
from schemas.errors import InputError

if TYPE_CHECKING:
    from opentelemetry.sdk.trace.export import BatchSpanProcessor

    from infra.settings import Settings

Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "server", "client", "producer", "consumer"]

SEND_S = 5.0
CLOSE_S = 2.0
"""How long a process tries to send its last spans."""

_PATH = "/v1/traces"
_BEGINS = frozenset({"server", "consumer"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_W3C = TraceContextTextMapPropagator()
_OFF = NoOpTracer()
_tracer: trace.Tracer = _OFF
_queue: BatchSpanProcessor | None = None


def check(settings: Settings) -> tuple[str, float]:
    """Return the collector's address, empty if traces are off, and the sampling share.

    Raises:
        InputError: traces are configured and can't be sent.
    """
    if not settings.traces_url:
        return "", 0.0
    try:
        address, query = parameters(settings.traces_url, "sample")
        share = float(query.get("sample", 1))
    except ValueError:
        share = math.nan
    if not 0 <= share <= 1:
        raise InputError("The sample of SAYCART_TRACES_URL must be 0 to 1", hint="For example ?sample=0.1.")
    url = urlsplit(address)
    if url.scheme not in ("http", "https") or not url.hostname:
        raise InputError(
            "SAYCART_TRACES_URL is not an http address",
            hint="Use a collector's OTLP over HTTP address, such as http://127.0.0.1:4318/v1/traces.",
        )
    try:
        import opentelemetry.exporter.otlp.proto.http.trace_exporter
        import opentelemetry.sdk.trace  # noqa: F401 - the imports are the check; they start nothing
    except ImportError as error:
        raise InputError(
            f"SAYCART_TRACES_URL is set, but the trace exporter is not installed ({error.name or error})",
            hint='Install it with: pip install "saycart[traces]" (in a checkout: make setup).',
        ) from None
    return address if url.path.strip("/") else address.rstrip("/") + _PATH, share


def start(settings: Settings, part: str) -> None:
    """Export this process's spans as `saycart-PART`, if a URL is set. Raises InputError as `check`."""
    global _tracer, _queue
    url, share = check(settings)
    if not url or on():
        return
    import requests
    from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
    from opentelemetry.sdk.resources import Resource
    from opentelemetry.sdk.trace import TracerProvider
    from opentelemetry.sdk.trace.export import BatchSpanProcessor
    from opentelemetry.sdk.trace.sampling import ParentBased, TraceIdRatioBased

    direct = requests.Session()
    direct.trust_env = False
    _queue = BatchSpanProcessor(OTLPSpanExporter(endpoint=url, timeout=SEND_S, session=direct))
    provider = TracerProvider(
        sampler=ParentBased(TraceIdRatioBased(share)),
        resource=Resource.create(_resource(part)),
        shutdown_on_exit=False,
    )
    provider.add_span_processor(_queue)
    _tracer = provider.get_tracer("saycart")


def stop() -> None:
    """Send the remaining spans, for at most `CLOSE_S` seconds, and stop; harmless if tracing is off."""
    global _tracer, _queue
    queue, _queue, _tracer = _queue, None, _OFF
    if queue is not None:
        # In a daemon thread: a collector that never responds would block.
        closing = threading.Thread(target=queue.shutdown, name="traces-close", daemon=True)
        closing.start()
        closing.join(CLOSE_S)


def on() -> bool:
    """Return whether this process exports spans."""
    return _tracer is not _OFF


@contextmanager
def span(
    name: str, attributes: Attributes | None = None, *, kind: Kind = "internal", link: str | None = None
) -> Iterator[None]:
    """Open a span for the block, as a child of the current one; `link` is a related span's traceparent. An
    error that leaves the block is recorded by its type, without its message. Also a decorator: each call is
    a span then.

    Only a `server` or `consumer` span starts a trace; without a trace other spans are skipped.
    """
    if not on() or (kind not in _BEGINS and not _current().is_valid):
        yield
        return
    related = _parsed(link)
    with _tracer.start_as_current_span(
        name,
        kind=SpanKind[kind.upper()],
        attributes=dict(attributes or {}),
        links=[Link(related)] if related.is_valid else None,
        # Both would quote the error's message.
        record_exception=False,
        set_status_on_exception=False,
    ):
        try:
            yield
        except BaseException as error:
            code = getattr(error, "code", None)
            note({"error.type": code if isinstance(code, str) else type(error).__name__})
            raise


@contextmanager
def continued(traceparent: str | None) -> Iterator[None]:
    """Continue the trace of a stored `traceparent` in the block; None or an invalid one: no trace."""
    token = context.attach(trace.set_span_in_context(NonRecordingSpan(_parsed(traceparent)), Context()))
    try:
        yield
    finally:
        context.detach(token)


def note(attributes: Attributes) -> None:
    """Set attributes of the current span. `error.type` marks it as failed."""
    current = trace.get_current_span()
    current.set_attributes(dict(attributes))
    if "error.type" in attributes:
        current.set_status(StatusCode.ERROR)


def headers() -> dict[str, str]:
    """Return the headers that make a called server's spans children of the current one."""
    carrier: dict[str, str] = {}
    if on():
        _W3C.inject(carrier)
    return {name: value for name, value in carrier.items() if name == "traceparent"}


def current_traceparent() -> str | None:
    """Return the current span as a W3C traceparent, None outside of a span."""
    return headers().get("traceparent")


def current_trace_id() -> str | None:
    """Return the current trace id in hex, for logs; None outside of a span."""
    return trace.format_trace_id(_current().trace_id) if on() and _current().is_valid else None


def serving(method: str) -> Serving | None:
    """Start the span of a received request; the caller ends it."""
    return Serving(_tracer, method if method in _METHODS else "_OTHER") if on() else None


class Serving:
    """The span of an HTTP request, the root of a trace; it ends with the last byte of the response."""

    def __init__(self, tracer: trace.Tracer, method: str) -> None:
        self._method = method
        self._span = tracer.start_span(method, Context(), SpanKind.SERVER, {"http.request.method": method})
        self._token = context.attach(trace.set_span_in_context(self._span, Context()))

    def done(self, route: str, status: int) -> None:
        """End the span after the response; `route` is a template, never an address."""
        self._span.update_name(f"{self._method} {route}")
        self._span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500 or not status:
            self._span.set_attribute("error.type", str(status or "no_answer"))
            self._span.set_status(StatusCode.ERROR)
        self._span.end()

    def leave(self) -> None:
        """Detach the span from the context once the request is over."""
        with suppress(ValueError):
            context.detach(self._token)


def _current() -> trace.SpanContext:
    return trace.get_current_span().get_span_context()


def _parsed(traceparent: str | None) -> trace.SpanContext:
    """Parse a traceparent; the result is not `is_valid` if it is invalid or None."""
    extracted = _W3C.extract({"traceparent": traceparent or ""}, Context())
    return trace.get_current_span(extracted).get_span_context()


def _resource(part: str) -> dict[str, str | int]:
    return {
        "service.namespace": "saycart",
        "service.name": f"saycart-{part}",
        "service.version": version("saycart"),
        "service.instance.id": f"{socket.gethostname()}:{os.getpid()}",
        "process.pid": os.getpid(),
    }
