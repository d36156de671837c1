"""A trace collector: OTLP over real HTTP, spans stored in memory."""

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
    """A received span; ids are hexadecimal, `parent` is empty for a trace's root."""

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
        """Return True if a traceparent names this span and is sampled."""
        _, *ids, flags = (traceparent or "---0").split("-")
        return ids == [self.trace, self.id] and bool(int(flags, 16) & 1)


@dataclass
class Collector:
    """Responds with status `answers`; `bodies` has the raw requests."""

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
        """Wait for spans with these names: a request's span ends after its response is sent."""
        self.until(lambda: all(self.named(name) for name in requests))

    def of(self, order_id: str) -> list[Span]:
        """Return an order's spans by start time."""
        found = [span for span in self.spans if span.attributes.get("saycart.order.id") == order_id]
        return sorted(found, key=lambda span: span.began)

    def until(self, true: Callable[[], object], seconds: float = 20.0) -> None:
        until(true, seconds, detail=lambda: [(span.part, span.name) for span in self.spans])

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
    """Run a collector on a free loopback port."""
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
    """Export this process's spans during the block; afterwards all ended ones are in `spans`."""
    tracing.start(Settings(traces_url=f"{collector.url}?sample={sample}"), "api")
    try:
        yield collector
    finally:
        tracing.stop()
