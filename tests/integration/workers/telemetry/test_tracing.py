"""Traces at a real collector: parents and links, trusted callers, and cost."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
import structlog

from infra.observability import tracing
from infra.observability.telemetry import configure_logging
from infra.settings import REPOSITORY, Settings
from schemas.errors import DecodeInvalid, EngineUnavailable, InputError
from services.bootstrap import Container
from services.decoding.completion import Completions
from services.decoding.ports import CartRequest, DecodedCart
from tests.integration import api_world
from tests.integration.api_world import MENU, World
from tests.processes.parts import python
from tests.servers.collector import Collector, collecting, traced
from tests.stand_ins import Pipeline

world, lone_world = api_world.world, api_world.lone_world
CALLER = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
TEXT = {"transcript": "a latte", "menu": MENU["id"]}


@pytest.fixture
def collector() -> Iterator[Collector]:
    with collecting() as found:
        yield found


def order(world: World, **headers: str) -> str:
    answer = world.http.post("/v1/orders", json=TEXT, headers=headers)
    assert answer.status_code == 202, answer.text
    return str(answer.json()["id"])


def test_a_request_starts_a_trace_that_its_order_continues(world: World, collector: Collector) -> None:
    with traced(collector):
        order_id = order(world)
        assert world.http.get("/v1/orders/ord_none").status_code == 404
        assert world.http.get("/livez").status_code == 200
    asked, accept, store = (collector.one(name) for name in ("POST /v1/orders", "accept", "store order"))
    assert (asked.kind, asked.parent, asked.part) == ("server", "", "saycart-api")
    assert asked.attributes == {
        "http.request.method": "POST", "http.route": "/v1/orders", "http.response.status_code": 202
    }  # fmt: skip
    assert (accept.parent, store.parent) == (asked.id, accept.id)
    assert {span.trace for span in (asked, accept, store)} == {asked.trace}
    assert accept.attributes == {"saycart.shop": "main", "saycart.order.id": order_id}
    assert accept.is_at(world.parts.orders.get(order_id).traceparent)
    missing = collector.one("GET /v1/orders/{order_id}")
    assert missing.attributes["http.response.status_code"] == 404
    assert not missing.failed
    assert missing.trace != asked.trace
    assert len(collector.spans) == 4, "the probe has no span"


def test_a_callers_traceparent_is_ignored(world: World, collector: Collector) -> None:
    with traced(collector):
        order(world, traceparent=CALLER)
        collector.until_received("POST /v1/orders")
    assert all(span.trace != CALLER.split("-")[1] for span in collector.spans)
    assert collector.one("POST /v1/orders").parent == ""


def test_an_unsampled_order_has_no_spans(world: World, collector: Collector) -> None:
    with traced(collector, sample=0.0):
        kept = world.parts.orders.get(order(world)).traceparent
    assert kept is not None
    assert int(kept[-2:], 16) & 1 == 0  # another bit says that an id is random
    assert collector.spans == []


def test_every_attempt_is_a_child_of_the_acceptance(world: World, collector: Collector) -> None:
    pipeline = Pipeline(world.parts.database, world.parts.blobs)
    with traced(collector):
        with tracing.continued(None), tracing.span("accept", kind="server"):
            order_id = pipeline.typed("a large latte with oat milk and a blueberry muffin and a napkin")
            traceparent = tracing.current_traceparent()
        pipeline._set(order_id, f"traceparent = '{traceparent}'")
        failures = [EngineUnavailable("away"), DecodeInvalid("outside", quoted="a latte")]
        decode = pipeline.decoder.decode

        def failing(asked: CartRequest, *more: Any, **how: Any) -> DecodedCart:
            # Orders of other tests may be decoded first.
            if failures and asked.transcript.endswith("and a napkin"):
                raise failures.pop(0)
            return decode(asked, *more, **how)

        pipeline.decoder.decode = failing  # type: ignore[method-assign]
        assert pipeline.until_settled(order_id).state.value == "in_review"
        pipeline.orders.replay(order_id)
        assert pipeline.until_settled(order_id).state.value == "completed"
    accept, stages = collector.one("accept"), collector.of(order_id)
    assert {(span.parent, span.trace, span.kind) for span in stages} == {
        (accept.id, accept.trace, "consumer")
    }
    assert [
        (span.name, span.attributes["saycart.attempt"], span.attributes["saycart.outcome"]) for span in stages
    ] == [
        ("stage decode", 1, "retry"), ("stage decode", 2, "review"),
        ("stage decode", 1, "done"), ("stage validate", 1, "done"),
    ]  # fmt: skip
    assert [span.attributes.get("error.type") for span in stages if span.failed] == [
        EngineUnavailable.code, DecodeInvalid.code
    ]  # fmt: skip
    assert all(span.attributes["saycart.waited_s"] >= 0 for span in stages)


def test_a_review_is_linked_to_the_orders_trace(world: World, collector: Collector) -> None:
    with traced(collector):
        order_id, review_id = world.doubted()
        claim = world.http.post(f"/v1/reviews/{review_id}/claim", json={}, headers=world.bearing("bob"))
        decided = world.http.post(
            f"/v1/reviews/{review_id}/decision",
            json={"version": claim.json()["version"], "action": "reject", "reason": "who wants that"},
            headers=world.bearing("bob"),
        )
        assert decided.status_code == 200, decided.text
        collector.until_received("POST /v1/reviews/{review_id}/decision")
    accept, decision = collector.one("accept"), collector.one("decide review")
    asked = collector.one("POST /v1/reviews/{review_id}/decision")
    assert decision.links == (accept.id,)
    assert (decision.parent, decision.trace) == (asked.id, asked.trace)
    assert asked.trace != accept.trace
    assert decision.attributes == {"saycart.order.id": order_id, "saycart.action": "reject"}


def test_requests_to_a_decode_server_carry_the_trace(collector: Collector) -> None:
    """The collector accepts any POST, so it serves as a bad decode server, and a span says so."""
    calls = Completions(collector.url, model="m", timeout_s=5)
    heard: list[str | None] = []
    send = calls._http.build_request

    def watched(*args: Any, **kwargs: Any) -> httpx.Request:
        request = send(*args, **kwargs)
        heard.append(request.headers.get("traceparent"))
        return request

    calls._http.build_request = watched  # type: ignore[method-assign]
    collector.answers = 418
    with traced(collector):
        with pytest.raises(Exception, match="refused"):
            calls.post("/v1/chat/completions", {})
        with tracing.span("stage decode", kind="consumer"), pytest.raises(Exception, match="refused"):
            calls.post("/v1/chat/completions", {})
        collector.answers = 200
    assert heard[0] is None, "warming a menu is in no trace"
    asked = collector.one("POST /v1/chat/completions")
    assert asked.is_at(heard[1])
    assert (asked.kind, asked.parent) == ("client", collector.one("stage decode").id)
    assert asked.attributes["http.response.status_code"] == 418
    assert (asked.failed, asked.attributes["error.type"]) == (True, "engine_misconfigured")


def test_log_lines_have_the_trace_id(capsys: pytest.CaptureFixture[str], collector: Collector) -> None:
    known = structlog.get_config()
    configure_logging("INFO", as_json=False)
    try:
        log = structlog.get_logger("of this test")
        with traced(collector), tracing.span("stage read", kind="consumer"):
            log.info("within")
        log.info("without")
    finally:
        structlog.configure(**known)
    within, without = [line for line in capsys.readouterr().err.splitlines() if "with" in line]
    assert f"trace_id='{collector.one('stage read').trace}'" in within
    assert "trace_id" not in without


@pytest.mark.parametrize("how", ["refuses", "hangs"])
def test_an_unavailable_collector_delays_no_order(
    lone_world: World, how: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tracing, "CLOSE_S", 0.5)
    monkeypatch.setenv("OTEL_BSP_SCHEDULE_DELAY", "50")
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        port = deaf.getsockname()[1] if how == "hangs" else 1
        tracing.start(Settings(traces_url=f"http://127.0.0.1:{port}"), "api")
        began = time.monotonic()
        for _ in range(3 * 2048):  # of which the SDK's queue holds a third
            with tracing.span("stage read", kind="consumer"):
                pass
        assert order(lone_world)
        tracing.stop()
        assert time.monotonic() - began < 10


def test_without_tracing_no_sdk_is_loaded() -> None:
    code = """
import sys
import infra.observability.tracing as tracing, services.decoding.completion
import services.pipeline.runner, services.workers.courier
from infra.settings import Settings
tracing.start(Settings(), "api")
with tracing.continued("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"):
    with tracing.span("x", kind="server"):
        tracing.note({"a": 1})
        assert tracing.current_traceparent() is None and tracing.headers() == {}
assert tracing.serving("GET") is None
tracing.stop()
# Redis-py imports of the SDK what it needs for metrics, whatever we do.
ours = ("opentelemetry.sdk.trace", "opentelemetry.exporter")
print(sorted(name for name in sys.modules if name.startswith(ours)))
"""
    done = python("-c", code, env={"PYTHONPATH": str(REPOSITORY)})
    assert (done.returncode, done.stdout.strip()) == (0, "[]"), done.stderr[-3000:]


def test_an_invalid_url_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="SAYCART_TRACES_URL is not an http address"):
        Container(Settings(home=tmp_path, traces_url="collector:4317"))


def test_fastapis_telemetry_is_off(world: World) -> None:
    """It would export full URLs with page keys and customers' links."""
    app: Any = world.server._app
    assert {app._telemetry[name] for name in ("tracing", "metrics", "logs", "auto_configure")} == {False}
