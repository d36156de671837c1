"""Spans by OpenTelemetry's SDK, sent to a collector by OTLP over HTTP. Imported by `tracing.py` alone, late.

No global provider is set: FastAPI and redis-py would then trace by themselves, addresses and all, and FastAPI
believes any caller's traceparent. Nothing waits for the collector. Ended spans go into a queue of bounded
length, which a thread empties; what does not fit, or can't be delivered, is dropped and counted.
"""

from __future__ import annotations

import logging
import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from contextvars import Token
from importlib.metadata import PackageNotFoundError, version
from typing import Literal

import requests
import structlog
from opentelemetry import context as contexts
from opentelemetry import trace
from opentelemetry.context import Context
from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter, SpanExportResult
from opentelemetry.sdk.trace.sampling import Decision, ParentBased, TraceIdRatioBased
from opentelemetry.trace import Link, NonRecordingSpan, SpanContext, SpanKind, StatusCode, TraceFlags
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

log = structlog.get_logger()

# As `tracing.py` has them, which alone imports this file.
Attributes = Mapping[str, str | int | float | bool]
Kind = Literal["internal", "server", "client", "producer", "consumer"]

WAITING = 2048
"""Spans that wait to be sent, at most: some hundred orders."""
BATCH = 512
DELAY_S = 1.0
"""Ended spans are sent after so long; a process that is killed loses those of its last moment."""
SEND_S = 5.0
CLOSE_S = 2.0
"""What is left at the end of a process is tried to be sent for so long."""

_KINDS = {
    "internal": SpanKind.INTERNAL,
    "server": SpanKind.SERVER,
    "client": SpanKind.CLIENT,
    "producer": SpanKind.PRODUCER,
    "consumer": SpanKind.CONSUMER,
}
_BEGINS = frozenset({"server", "consumer"})
_METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "DELETE", "PATCH", "OPTIONS"})
_W3C = TraceContextTextMapPropagator()


class _Counted(SpanExporter):
    """The exporter, which tells once that the collector is away, and once that it is back."""

    def __init__(self, exporter: SpanExporter) -> None:
        self._exporter = exporter
        self._away = False
        self.taken = self.sent = 0

    def export(self, spans: Sequence[ReadableSpan]) -> SpanExportResult:
        self.taken += len(spans)
        result = self._exporter.export(spans)
        if result is SpanExportResult.SUCCESS:
            self.sent += len(spans)
            if self._away:
                log.warning("traces.sent_again", dropped=self.taken - self.sent)
        elif not self._away:
            log.warning("traces.not_sent", spans=len(spans))
        self._away = result is not SpanExportResult.SUCCESS
        return result

    def shutdown(self) -> None:
        self._exporter.shutdown()


class _Queue(BatchSpanProcessor):
    """The SDK's, which counts: what did not fit shows as ended and never taken."""

    def __init__(self, exporter: _Counted) -> None:
        super().__init__(
            exporter,
            max_queue_size=WAITING,
            schedule_delay_millis=DELAY_S * 1000,
            max_export_batch_size=BATCH,
        )
        self._counting = threading.Lock()
        self.ended = 0

    def on_end(self, span: ReadableSpan) -> None:
        if span.context and span.context.trace_flags.sampled:
            with self._counting:
                self.ended += 1
        super().on_end(span)


class Spans:
    """One process's spans. Its methods are those of `tracing.py`."""

    def __init__(self, url: str, part: str, share: float) -> None:
        # It says of each batch, and of each span, what we say once.
        for name in ("opentelemetry.exporter", "opentelemetry.sdk._shared_internal"):
            logging.getLogger(name).setLevel(logging.CRITICAL + 1)
        self._share = TraceIdRatioBased(share)
        direct = requests.Session()
        direct.trust_env = False
        self._sent = _Counted(OTLPSpanExporter(endpoint=url, timeout=SEND_S, session=direct))
        self._queue = _Queue(self._sent)
        provider = TracerProvider(
            sampler=ParentBased(self._share), resource=_resource(part), shutdown_on_exit=False
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
            kind=_KINDS[kind],
            attributes=dict(attributes),
            links=[Link(about)] if about else None,
            # Both quote the error.
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
        token = contexts.attach(_below(_read(traceparent)))
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

    def serving(self, method: str, traceparent: str | None) -> Serving:
        return Serving(self._tracer, self._share, method, traceparent)

    def close(self) -> None:
        """Send what waits, for `CLOSE_S` seconds at most."""
        # In a thread that may be left behind: a collector that accepts and never answers holds it.
        closing = threading.Thread(target=self._queue.shutdown, name="traces-close", daemon=True)
        closing.start()
        closing.join(CLOSE_S)
        if lost := self._queue.ended - self._sent.sent:
            log.warning("traces.lost", spans=lost, of=self._queue.ended)


class Serving:
    """The span of one HTTP request, from its first byte to the last of its answer.

    A span's parent can't be changed once it has begun. So the span of a request that shows a key and names a
    trace begins when the key is found to be good, back-dated, and then belongs to the caller's trace. All
    others begin at once, in a trace of their own.
    """

    def __init__(
        self, tracer: trace.Tracer, share: TraceIdRatioBased, method: str, traceparent: str | None
    ) -> None:
        self._tracer, self._share, self._began = tracer, share, time.time_ns()
        self._method = method if method in _METHODS else "_OTHER"
        self._caller = _read(traceparent)
        self._span: trace.Span | None = None
        self._token: Token[Context] | None = None
        self._over = False
        if self._caller is None:
            self._begin(None)

    def known(self) -> None:
        """The caller's key is good."""
        if self._span is not None or self._caller is None:
            return
        caller = self._caller
        # The caller decides which of its requests are traced, within our share of them: who sends a flag with
        # each would else decide what our collector costs.
        kept = self._share.should_sample(None, caller.trace_id, "").decision is not Decision.DROP
        flags = caller.trace_flags if kept else TraceFlags(TraceFlags.DEFAULT)
        # Without the tracestate, which may hold anything and would be passed on.
        self._begin(SpanContext(caller.trace_id, caller.span_id, is_remote=True, trace_flags=flags))

    def done(self, route: str, status: int) -> None:
        """The answer is out; `route` is a template, never an address."""
        if self._over:
            return
        self._over = True
        span = self._span or self._begin(None)
        span.update_name(f"{self._method} {route}")
        span.set_attributes({"http.route": route, "http.response.status_code": status})
        if status >= 500 or not status:
            _failed(span, str(status or "no_answer"))
        span.end()

    def leave(self) -> None:
        """Where the request was begun, once nothing of it runs any more."""
        if self._token is not None:
            with suppress(ValueError):
                contexts.detach(self._token)

    def _begin(self, parent: SpanContext | None) -> trace.Span:
        context = _below(parent)
        self._span = self._tracer.start_span(
            self._method,
            context,
            SpanKind.SERVER,
            {"http.request.method": self._method},
            start_time=self._began,
        )
        self._token = contexts.attach(trace.set_span_in_context(self._span, context))
        return self._span


def _read(traceparent: str | None) -> SpanContext | None:
    """What a traceparent names; None where it is not one."""
    if traceparent is None:
        return None
    named = trace.get_current_span(_W3C.extract({"traceparent": traceparent}, Context())).get_span_context()
    return named if named.is_valid else None


def _below(parent: SpanContext | None) -> Context:
    """A context of its own, whose spans come below `parent`."""
    return trace.set_span_in_context(NonRecordingSpan(parent), Context()) if parent else Context()


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
            "host.name": host,
            "process.pid": pid,
        }
    )
