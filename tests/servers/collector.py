"""A collector of traces: OTLP over real HTTP, kept in memory for tests to look at."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.common.v1.common_pb2 import KeyValue
from opentelemetry.proto.trace.v1.trace_pb2 import Span as Wire
from opentelemetry.proto.trace.v1.trace_pb2 import Status

from infra.observability import tracing
from infra.settings import Settings
from tests.servers.loopback import Handler, serving
from tests.waiting import until


@dataclass(frozen=True)
class Span:
    """One span as it was received; ids are hexadecimal, `parent` is empty for the first of a trace."""

    name: str
    kind: str
    trace: str
    id: str
    parent: str
    links: tuple[str, ...]
    attributes: dict[str, Any]
    part: str
    failed: bool
    began: int

    def is_at(self, traceparent: str | None) -> bool:
        """Whether a traceparent names this span, as one that is sent."""
        _, *ids, flags = (traceparent or "---0").split("-")
        return ids == [self.trace, self.id] and bool(int(flags, 16) & 1)


@dataclass
class Collector:
    """`answers` is the status that it gives; `bodies` is all that was sent, as it came."""

    url: str = ""
    answers: int = 200
    spans: list[Span] = field(default_factory=list)
    bodies: list[bytes] = field(default_factory=list)

    def named(self, name: str) -> list[Span]:
        return [span for span in self.spans if span.name == name]

    def one(self, name: str) -> Span:
        [found] = self.named(name)
        return found

    def until_received(self, *requests: str) -> None:
        """Wait for these: a request's span ends after its answer, which a client may have before."""
        self.until(lambda: all(self.named(name) for name in requests))

    def of(self, order_id: str) -> list[Span]:
        """Those that name an order, in the order of their beginning."""
        found = [span for span in self.spans if span.attributes.get("saycart.order.id") == order_id]
        return sorted(found, key=lambda span: span.began)

    def until(self, true: Callable[[], object], seconds: float = 20.0) -> None:
        until(true, seconds, told=lambda: [(span.part, span.name) for span in self.spans])

    def take(self, body: bytes) -> None:
        self.bodies.append(body)
        for of in ExportTraceServiceRequest.FromString(body).resource_spans:
            about = _values(of.resource.attributes)
            for scope in of.scope_spans:
                self.spans += [_span(one, about) for one in scope.spans]


def _values(pairs: Any) -> dict[str, Any]:
    def value(pair: KeyValue) -> Any:
        return getattr(pair.value, pair.value.WhichOneof("value"))

    return {pair.key: value(pair) for pair in pairs}


def _span(one: Wire, about: dict[str, Any]) -> Span:
    return Span(
        name=one.name,
        kind=Wire.SpanKind.Name(one.kind).removeprefix("SPAN_KIND_").lower(),
        trace=one.trace_id.hex(),
        id=one.span_id.hex(),
        parent=one.parent_span_id.hex(),
        links=tuple(link.span_id.hex() for link in one.links),
        attributes=_values(one.attributes),
        part=about["service.name"],
        failed=one.status.code == Status.STATUS_CODE_ERROR,
        began=one.start_time_unix_nano,
    )


@contextmanager
def collecting() -> Iterator[Collector]:
    """A collector on a free port of the loopback interface."""
    collector = Collector()

    class Traces(Handler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            body = self.body()
            answers = collector.answers
            if answers == 200:
                collector.take(body)
            self.answer(answers)

    with serving(Traces) as url:
        collector.url = f"{url}/v1/traces"
        yield collector


@contextmanager
def traced(collector: Collector, sample: float = 1.0) -> Iterator[Collector]:
    """This process exports while the block runs; after it, all that was ended is in `spans`."""
    tracing.start(Settings(traces_url=f"{collector.url}?sample={sample}"), "api")
    try:
        yield collector
    finally:
        tracing.stop()
